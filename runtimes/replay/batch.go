package replay

import (
	"context"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// batch is the memory of one size.
type batch struct {
	sampling.Batch
	stats sampling.Statistics
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errClosed()
	case !d.set:
		return nil, fmt.Errorf("runtime.recording %s: Batch before Configure", d.name)
	case b < 1 || l < 1 || b > math.MaxInt32/l:
		return nil, fmt.Errorf("runtime.recording %s: a batch of %d rows x %d positions; give at least 1 of each, and fewer than 2^31 together", d.name, b, l)
	}
	key := [2]int{b, l}
	if d.batches[key] == nil {
		made, err := d.build(b, l)
		if err != nil {
			return nil, fmt.Errorf("runtime.recording %s: %w", d.name, err)
		}
		clear(d.batches) // one at a time: logits are wide
		d.batches[key] = made
	}
	d.current = d.batches[key]
	return &d.current.Batch, nil
}

func (d *Denoiser) build(b, l int) (*batch, error) {
	n, needs := b*l, &d.head.Needs
	one := &batch{Batch: sampling.Batch{B: b, L: l, Tokens: make([]int64, n), Attention: make([]int64, n), Active: make([]uint8, n), Params: make([]sampling.Params, b),
		Slots: make([]int32, b), Index: make([]int64, b), Step: make([]int32, b), Fresh: make([]uint8, b), Lo: make([]int32, b), Hi: make([]int32, b), Uniform: make([]float64, n)}}
	if d.head.Guidance != 0 {
		one.Unconditional = make([]int64, n)
	}
	column := func(is bool, width int) []float32 {
		if !is {
			return nil
		}
		return make([]float32, n*width)
	}
	one.stats = sampling.Statistics{B: b, L: l, Proposal: make([]int32, n), Failed: make([]error, b), LogpProposal: column(needs.LogpProposal != sampling.NotNeeded, 1),
		P1: column(needs.P1, 1), P2: column(needs.P2, 1), Entropy: column(needs.Entropy != sampling.NotNeeded, 1), LogpCurrent: column(needs.LogpCurrent, 1), KLPrev: column(needs.KLPrev, 1),
		LogpLeaveOneOut: column(needs.LogpLeaveOneOut, 1), UnmaskRate: column(needs.UnmaskRate, 1), VocabDot: column(len(needs.VocabDot) > 0, len(needs.VocabDot))}
	if needs.InsertionRate {
		one.stats.InsertionRate = make([]float32, b*(l+1))
	}
	if k := needs.TopK; k > 0 {
		one.stats.TopIDs, one.stats.TopLogp = make([]int32, n*k), make([]float32, n*k)
	}
	if needs.Logits {
		if d.options.LogitsMemory == nil {
			one.stats.Logits = make([]float32, n*d.model.V)
			return one, nil
		}
		given, err := d.options.LogitsMemory(4 * n * d.model.V)
		if err != nil {
			return nil, fmt.Errorf("memory for logits: %w", err)
		}
		one.stats.Logits = given[:n*d.model.V]
	}
	return one, nil
}

// Run implements [sampling.Denoiser]: every row gets what was recorded of its canvas, or the reason why nothing was.
func (d *Denoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.closed:
		return nil, d.errClosed()
	case d.current == nil:
		return nil, fmt.Errorf("runtime.recording %s: Run before Batch", d.name)
	}
	one := d.current
	for i := range one.B {
		var q *question
		if q, one.stats.Failed[i] = d.find(one, i); one.stats.Failed[i] == nil {
			one.stats.Failed[i] = d.answer(one, i, q)
		}
	}
	return &one.stats, nil
}

// answer lays the statistics of a question out for row i.
func (d *Denoiser) answer(one *batch, i int, q *question) error {
	st, seen, l := &one.stats, &q.seen, one.L
	at, n := i*l+seen.Offset, len(seen.Token)
	row := st.Proposal[i*l : (i+1)*l]
	for j := range row {
		row[j] = -1
	}
	copy(st.Proposal[at:at+n], seen.Proposal)
	for j, active := range one.Active[i*l : (i+1)*l] {
		if active != 0 && row[j] < 0 {
			return fmt.Errorf("position %d: the run wants a proposal there, and %s (line %d) holds none; the recorded planner left written positions and later blocks alone, %s", j, d.name, q.line, again)
		}
	}
	for _, c := range [][2][]float32{{st.LogpProposal, seen.LogpProposal}, {st.P1, seen.P1}, {st.P2, seen.P2}, {st.Entropy, seen.Entropy}, {st.LogpCurrent, seen.LogpCurrent},
		{st.KLPrev, seen.KLPrev}, {st.LogpLeaveOneOut, seen.LogpLeaveOneOut}, {st.UnmaskRate, seen.UnmaskRate}} {
		if c[0] != nil {
			copy(c[0][at:at+n], c[1])
		}
	}
	if st.InsertionRate != nil {
		copy(st.InsertionRate[i*(l+1)+seen.Offset:][:n+1], seen.InsertionRate)
	}
	if k := d.head.Needs.TopK; k > 0 {
		for j := range n { // the recorded planner may have asked for more
			copy(st.TopIDs[(at+j)*k:(at+j+1)*k], seen.TopIDs[j*seen.K:])
			copy(st.TopLogp[(at+j)*k:(at+j+1)*k], seen.TopLogp[j*seen.K:])
		}
	}
	for c := range d.head.Needs.VocabDot {
		copy(st.VocabDot[c*one.B*l+at:][:n], seen.VocabDot[c*n:(c+1)*n])
	}
	if v := d.model.V; st.Logits != nil {
		for j := range n {
			copy(st.Logits[(at+j)*v:(at+j+1)*v], seen.Logits[j*seen.V:(j+1)*seen.V])
		}
	}
	return nil
}
