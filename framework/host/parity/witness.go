package parity

import (
	"context"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// moment is one step of one row.
type moment struct {
	row  int64
	step int32
}

// witness stands between a host and its runtime. It keeps what the runtime was asked and what it answered at the moments that somebody
// wants to know of; at all others it costs nothing.
type witness struct {
	backend.Denoiser
	head   sampling.Head
	batch  *sampling.Batch
	wanted map[moment]bool
	seen   map[moment][]sight // several, where the sampler runs several passes a step
}

// sight is one row in one pass. Its slices are copies.
type sight struct {
	tokens, attention, unconditional []int64   // [L]
	active                           []uint8   // [L]
	time                             []float32 // [1], or empty
	uniform                          []float64 // [L]
	params                           sampling.Params
	proposal                         []int32     // [L]
	statistics                       [][]float32 // each [L], or [L+1] of gaps; in the same order in all sights of a head
}

// Configure implements [sampling.Denoiser].
func (w *witness) Configure(ctx context.Context, head sampling.Head) error {
	w.head = head
	return w.Denoiser.Configure(ctx, head)
}

// Batch implements [sampling.Denoiser]: rows say which they are.
func (w *witness) Batch(b, l int) (*sampling.Batch, error) {
	batch, err := w.Denoiser.Batch(b, l)
	if err != nil {
		return nil, err
	}
	if batch.Index == nil {
		batch.Index, batch.Step = make([]int64, b), make([]int32, b)
	}
	w.batch = batch
	return batch, nil
}

// Run implements [sampling.Denoiser].
func (w *witness) Run(ctx context.Context) (*sampling.Statistics, error) {
	s, err := w.Denoiser.Run(ctx)
	if err != nil || len(w.wanted) == 0 {
		return s, err
	}
	for i := range w.batch.B {
		if at := (moment{w.batch.Index[i], w.batch.Step[i]}); w.wanted[at] {
			w.seen[at] = append(w.seen[at], look(w.batch, s, i))
		}
	}
	return s, nil
}

// want asks for what passes at some moments from now on.
func (w *witness) want(moments []moment) {
	w.wanted, w.seen = map[moment]bool{}, map[moment][]sight{}
	for _, m := range moments {
		w.wanted[m] = true
	}
}

// look copies row i of a pass.
func look(b *sampling.Batch, s *sampling.Statistics, i int) sight {
	lo, hi := i*b.L, (i+1)*b.L
	out := sight{tokens: part(b.Tokens, lo, hi), attention: part(b.Attention, lo, hi), unconditional: part(b.Unconditional, lo, hi), active: part(b.Active, lo, hi),
		time: part(b.Time, i, i+1), uniform: part(b.Uniform, lo, hi), params: b.Params[i], proposal: part(s.Proposal, lo, hi)}
	for _, all := range [][]float32{s.LogpProposal, s.P1, s.P2, s.Entropy, s.LogpCurrent, s.KLPrev, s.LogpLeaveOneOut, s.UnmaskRate} {
		if all != nil {
			out.statistics = append(out.statistics, part(all, lo, hi))
		}
	}
	if k := len(s.TopLogp) / max(len(s.Proposal), 1); k > 0 {
		for j := range k {
			column := make([]float32, b.L)
			for l := range column {
				column[l] = s.TopLogp[(lo+l)*k+j]
			}
			out.statistics = append(out.statistics, column)
		}
	}
	for dots := s.VocabDot; len(dots) > 0; dots = dots[b.B*b.L:] {
		out.statistics = append(out.statistics, part(dots, lo, hi))
	}
	if s.InsertionRate != nil {
		out.statistics = append(out.statistics, part(s.InsertionRate, i*(b.L+1), (i+1)*(b.L+1)))
	}
	return out
}

func part[T any](all []T, lo, hi int) []T {
	if all == nil {
		return nil
	}
	return slices.Clone(all[lo:hi])
}
