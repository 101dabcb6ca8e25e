package spread

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Streams is one model on the CPU in two ways. Whole runs a batch in one pass, whose operators share all threads and wait for each other. The
// members run its rows side by side, on one thread each that waits for nobody: faster for small models, where operators are short, and
// useless for fewer rows than threads. Which of them runs a batch depends on its rows alone, and tokens do not depend on it.
type Streams struct {
	whole  sampling.Denoiser
	side   *Denoiser
	least  int               // rows that go side by side; 0: none do
	now    sampling.Denoiser // that handed the last batch out
	closed atomic.Bool
}

var _ sampling.Denoiser = (*Streams)(nil)

// NewStreams takes the denoisers of one model, opened and not configured, and owns them.
func NewStreams(whole sampling.Denoiser, side []sampling.Denoiser) (*Streams, error) {
	var members []Member
	for i, d := range side {
		members = append(members, Member{Name: fmt.Sprintf("stream %d", i), Denoiser: d})
	}
	d, err := New(members, Options{})
	if err != nil {
		return nil, err
	}
	return &Streams{whole: whole, side: d, least: len(members), now: whole}, nil
}

// Capabilities implements [sampling.Denoiser].
func (s *Streams) Capabilities() sampling.Capabilities { return s.whole.Capabilities() }

// Notes are those of the model.
func (s *Streams) Notes() []string {
	if told, ok := s.whole.(interface{ Notes() []string }); ok {
		return told.Notes()
	}
	return nil
}

// Configure implements [sampling.Denoiser]. What a head keeps between passes stays in one place, and logits go out from one: such a head runs
// batches whole.
func (s *Streams) Configure(ctx context.Context, head sampling.Head) error {
	if head.Remembers() || head.Needs.Logits {
		s.least = 0
		return errors.Join(s.side.Close(), s.whole.Configure(ctx, head))
	}
	done := make(chan error)
	go func() { done <- s.side.Configure(ctx, head) }()
	err := s.whole.Configure(ctx, head)
	if aside := <-done; err == nil {
		err = aside
	}
	return err
}

// Batch implements [sampling.Denoiser].
func (s *Streams) Batch(b, l int) (*sampling.Batch, error) {
	s.now = s.whole
	if s.least > 0 && b >= s.least {
		s.now = s.side
	}
	return s.now.Batch(b, l)
}

// Run implements [sampling.Denoiser].
func (s *Streams) Run(ctx context.Context) (*sampling.Statistics, error) {
	return s.now.Run(ctx)
}

// Close ends a run in progress and closes the model. It may be called more than once and from any goroutine.
func (s *Streams) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	return errors.Join(s.whole.Close(), s.side.Close())
}
