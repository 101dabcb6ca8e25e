package spread

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Streams is one model on the CPU in two ways. Whole runs a batch in one pass, whose operators share all threads and wait for each other. The
// members run its rows side by side, on one thread each that waits for nobody: faster for small models, where operators are short, as long as each
// has as many rows as the others. Tokens do not depend on which of them runs a batch.
type Streams struct {
	whole  sampling.Denoiser
	side   *Denoiser
	n      int
	head   sampling.Head
	alone  bool // batches run whole
	even   int  // batches that came out even; side is configured once they are more than patience
	now    sampling.Denoiser
	closed atomic.Bool
}

// patience is how many batches run whole that could have gone side by side. Opening the streams takes about as long as they gain in so many: short
// runs do without, long ones lose little.
const patience = 32

// wide is the most positions [B, L] of a batch that goes side by side. With more, operators are long, and threads that share one use their caches
// better: measured with d 256, 8 x 128 took 0.95 of the time, 8 x 256 1.05.
const wide = 1024

var _ sampling.Denoiser = (*Streams)(nil)

// NewStreams takes the denoisers of one model, opened and not configured, and owns them unless there is an error.
func NewStreams(whole sampling.Denoiser, side []Member) (*Streams, error) {
	d, err := New(side, Options{})
	if err != nil {
		return nil, err
	}
	return &Streams{whole: whole, side: d, n: len(side), now: whole}, nil
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

// Configure implements [sampling.Denoiser]. What a head keeps between passes stays in one place, and what is as wide as the vocabulary is there once:
// with such heads batches run whole.
func (s *Streams) Configure(ctx context.Context, head sampling.Head) error {
	s.head, s.alone = head, head.Remembers() || head.Needs.Logits || head.Draw == sampling.DrawGumbel
	return s.whole.Configure(ctx, head)
}

// Batch implements [sampling.Denoiser].
func (s *Streams) Batch(b, l int) (*sampling.Batch, error) {
	s.now = s.whole
	if !s.alone && s.evenly(b) && b*l <= wide {
		s.even++
		if s.even == patience+1 {
			if err := s.side.Configure(context.Background(), s.head); err != nil {
				return nil, err
			}
		}
		if s.even > patience {
			s.now = s.side
		}
	}
	return s.now.Batch(b, l)
}

// evenly tells whether no stream idles for more than a tenth of a pass of b rows.
func (s *Streams) evenly(b int) bool {
	most := (b + s.n - 1) / s.n
	return b >= s.n && 10*most*s.n <= 11*b
}

// Run implements [sampling.Denoiser].
func (s *Streams) Run(ctx context.Context) (*sampling.Statistics, error) { return s.now.Run(ctx) }

// Close ends a run in progress and closes the model. It may be called more than once and from any goroutine.
func (s *Streams) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	return errors.Join(s.whole.Close(), s.side.Close())
}
