package forward

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// Pass is the memory of one size of batch: what the caller fills, what the session reads and writes, and what the caller gets.
// These are the same memory unless the model has fixed dimensions or other integer types.
type Pass struct {
	Batch   sampling.Batch
	In, Out []Tensor // of the session, in the order of the plan's names
	Values  any      // what Options.Bind made of them
	Turn    int      // 1 where the session takes Tensor.Turned in place of Data; Feed sets it

	plan           *Plan
	b, l           int // as asked for
	rows, length   int // as the head has it
	passes, copies int // of each row in what the model runs, and of its length there (see stem)
	modelRows      int // rows that the model runs
	stats          sampling.Statistics
	logits         []float32 // [B, L, V] with HeadGo
	feeds, fetches []func()  // copies before and after a run
	memory         offheap.Memory
	unbind         func()
}

// Feed makes the inputs of the session from the batch.
func (s *Pass) Feed() error {
	if s.plan.head.remembers() {
		if err := s.Batch.CheckSlots(); err != nil {
			return s.plan.model.Wrap(err)
		}
	}
	if p := s.plan; p.head.mode == HeadGraph && p.head.remembers() {
		if err := p.passes.memory.arrange(p.head, s, p.model.V); err != nil {
			return p.model.Wrap(fmt.Errorf("what is known of the rows: %w", err))
		}
		s.Turn = p.passes.memory.turn
	}
	for _, feed := range s.feeds {
		feed()
	}
	return nil
}

// Fetch makes the statistics from the outputs of the session. They are valid until the next run.
func (s *Pass) Fetch() (*sampling.Statistics, error) {
	for _, fetch := range s.fetches {
		fetch()
	}
	p := s.plan
	if p.head.mode == HeadGraph && p.head.remembers() {
		if err := p.passes.memory.learn(p.head, s, p.model.V); err != nil {
			return nil, p.model.Wrap(fmt.Errorf("what is known of the rows: %w", err))
		}
	}
	if p.head.mode == HeadGo {
		if err := p.passes.plain.Compute(s.logits, p.model.V, &s.Batch, p.head.spec, &s.stats); err != nil {
			return nil, p.model.Wrap(err)
		}
	}
	return &s.stats, nil
}

// Failed is the error of a session that did not run the pass.
func (s *Pass) Failed(err error) error {
	return s.plan.model.Wrap(fmt.Errorf("a pass of %d rows x %d positions failed: %w; compare token ids and lengths with config.json", s.b, s.l, err))
}

func (s *Pass) free() {
	if s.unbind != nil {
		s.unbind()
	}
	s.memory.Free()
	s.In, s.Out, s.Values, s.feeds, s.fetches, s.unbind = nil, nil, nil, nil, nil, nil
}

func (s *Pass) padded() bool { return s.b != s.rows || s.l != s.length }

// lay points the statistics at the rows of the packed output.
func (s *Pass) lay(r rows, packed []float32) {
	n := s.b * s.l
	part := func(at, count int) []float32 {
		if at < 0 || packed == nil {
			return nil
		}
		return packed[at*n : (at+count)*n : (at+count)*n]
	}
	st := &s.stats
	st.P1, st.P2, st.Entropy, st.LogpCurrent, st.LogpProposal = part(r.p1, 1), part(r.p2, 1), part(r.entropy, 1), part(r.current, 1), part(r.proposal, 1)
	st.KLPrev = part(r.kl, 1)
	if r.dot >= 0 {
		st.VocabDot = part(r.dot, r.count-r.dot)
	}
}
