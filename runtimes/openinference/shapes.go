package openinference

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// maxShapes bounds how many batch shapes keep their buffers.
const maxShapes = 32

// shapes are the buffers of the batch sizes in use. Logits are shared by all of them.
type shapes struct {
	all     map[[2]int]*shape
	current *shape
	logits  []float32       // [B, L, V] of the largest batch so far
	both    []float32       // [2 B, L, V] with guidance, before it
	memory  sampling.Memory // of the head in Go
}

// shape is the memory of one batch size.
type shape struct {
	batch sampling.Batch
	stats sampling.Statistics
}

func (s *shapes) forget() { *s = shapes{} }

// Batch implements [sampling.Denoiser]. Batches of any number of rows are taken: they are split over requests and servers.
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.ports
	switch {
	case d.life.Err() != nil:
		return nil, d.errClosed()
	case d.head == nil:
		return nil, fmt.Errorf("model %s: Batch before Configure", d.model.Name)
	case b < 1 || l < 1 || b > math.MaxInt32/l/d.head.passes:
		return nil, fmt.Errorf("model %s: a batch of %d rows x %d positions; give at least 1 of each, and fewer than 2^31 together", d.model.Name, b, l)
	case p.length > 0 && l > p.length:
		return nil, fmt.Errorf("model %s: a row of %d positions, and the served graph was exported for %d; shorten the row", d.model.Name, l, p.length)
	case p.length > 0 && l < p.length && !p.attention:
		return nil, fmt.Errorf("model %s: a row of %d positions, and the served graph takes exactly %d because it has no attention_mask; fill the row, or export the model anew with a mask", d.model.Name, l, p.length)
	}
	key := [2]int{b, l}
	if d.current = d.all[key]; d.current != nil {
		return &d.current.batch, nil
	}
	if len(d.all) >= maxShapes || d.all == nil {
		d.all = map[[2]int]*shape{}
	}
	d.current = d.make(b, l)
	d.all[key] = d.current
	return &d.current.batch, nil
}

// make allocates a shape.
func (d *Denoiser) make(b, l int) *shape {
	n, needs := b*l, &d.head.spec.Needs
	s := &shape{batch: sampling.Batch{B: b, L: l, Tokens: make([]int64, n), Attention: make([]int64, n), Active: make([]uint8, n), Params: make([]sampling.Params, b),
		Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, n)}}
	if d.ports.time {
		s.batch.Time = make([]float32, b)
	}
	if d.head.passes > 1 {
		s.batch.Unconditional = make([]int64, n)
	}
	if d.head.spec.Draw == sampling.DrawGumbel {
		s.batch.Gumbel = make([]float64, n*d.model.V)
	}
	st := &s.stats
	st.B, st.L = b, l
	floats := func(is bool, n int) []float32 {
		if !is {
			return nil
		}
		return make([]float32, n)
	}
	if needs.InsertionRate {
		st.InsertionRate = make([]float32, b*(l+1))
	}
	st.UnmaskRate = floats(needs.UnmaskRate, n)
	if !d.head.served {
		return s // sampling.Compute makes the rest
	}
	st.Proposal = make([]int32, n)
	st.LogpProposal, st.P1, st.P2 = floats(needs.LogpProposal != sampling.NotNeeded, n), floats(needs.P1, n), floats(needs.P2, n)
	st.Entropy, st.LogpCurrent = floats(needs.Entropy != sampling.NotNeeded, n), floats(needs.LogpCurrent, n)
	return s
}

// widen makes sure that the logits of a batch have room.
func (d *Denoiser) widen(n int) error {
	if d.head.passes > 1 && len(d.both) < 2*n {
		d.both = make([]float32, 2*n)
	}
	if len(d.logits) >= n {
		return nil
	}
	give := d.options.LogitsMemory
	if give == nil || !d.head.spec.Needs.Logits {
		d.logits = make([]float32, n)
		return nil
	}
	given, err := give(4 * n)
	if err != nil {
		return fmt.Errorf("model %s: memory for logits: %w", d.model.Name, err)
	}
	if len(given) < n {
		return fmt.Errorf("model %s: memory for logits: %d numbers given, %d asked for", d.model.Name, len(given), n)
	}
	d.logits = given
	return nil
}
