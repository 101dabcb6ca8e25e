package spread

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// maxPasses bounds how many sizes of batches keep their buffers.
const maxPasses = 32

// pass is the memory of one size of batch: what the caller fills, and what it gets.
type pass struct {
	batch sampling.Batch
	stats sampling.Statistics
	keeps bool // the members keep something of every row, by slot
}

// pass returns the memory of [b, l], which has what the members' batches have.
func (d *Denoiser) pass(b, l int) (*pass, error) {
	if have := d.passes[[2]int{b, l}]; have != nil {
		return have, nil
	}
	if b < 1 || d.caps.MaxRows > 0 && b > d.caps.MaxRows {
		return nil, fmt.Errorf("spread: a batch of %d rows; %d devices take 1 to %d (0: any number)", b, len(d.members), d.caps.MaxRows)
	}
	like, err := d.members[0].Batch((b+len(d.members)-1)/len(d.members), l)
	if err != nil {
		return nil, err
	}
	if len(d.passes) >= maxPasses {
		clear(d.passes)
	}
	n := b * l
	p := &pass{batch: sampling.Batch{B: b, L: l, Tokens: make([]int64, n), Attention: make([]int64, n), Active: make([]uint8, n),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, n),
		Time: as(like.Time, b), Index: as(like.Index, b), Step: as(like.Step, b), Lo: as(like.Lo, b), Hi: as(like.Hi, b),
		Masked: as(like.Masked, n), Unconditional: as(like.Unconditional, n), Gumbel: as(like.Gumbel, n*d.caps.V)},
		stats: sampling.Statistics{B: b, L: l}}
	p.keeps = d.head.Remembers() || like.Lo != nil
	if d.passes == nil {
		d.passes = map[[2]int]*pass{}
	}
	d.passes[[2]int{b, l}] = p
	return p, nil
}

// as makes n numbers where the members have some, and nil where they have nil.
func as[T any](like []T, n int) []T {
	if like == nil {
		return nil
	}
	return make([]T, n)
}

// deal says which rows each member runs. Rows of which a member keeps something go by their slot, always to the same one; others are
// dealt evenly, neighbours together.
func (d *Denoiser) deal(p *pass) error {
	n := len(d.members)
	for _, w := range d.members {
		w.rows = w.rows[:0]
	}
	if p.keeps {
		if err := p.batch.CheckSlots(); err != nil {
			return fmt.Errorf("spread: %w", err)
		}
	}
	for i := range p.batch.B {
		at := i * n / p.batch.B
		if p.keeps {
			at = int(p.batch.Slots[i]) % n
		}
		d.members[at].rows = append(d.members[at].rows, i)
	}
	return nil
}

// give copies the worker's rows into its batch.
func (p *pass) give(to *sampling.Batch, w *worker) {
	from, l := &p.batch, p.batch.L
	give(to.Tokens, from.Tokens, w.rows, l)
	give(to.Attention, from.Attention, w.rows, l)
	give(to.Active, from.Active, w.rows, l)
	give(to.Uniform, from.Uniform, w.rows, l)
	give(to.Masked, from.Masked, w.rows, l)
	give(to.Unconditional, from.Unconditional, w.rows, l)
	give(to.Gumbel, from.Gumbel, w.rows, len(from.Gumbel)/from.B)
	give(to.Params, from.Params, w.rows, 1)
	give(to.Slots, from.Slots, w.rows, 1)
	give(to.Fresh, from.Fresh, w.rows, 1)
	give(to.Time, from.Time, w.rows, 1)
	give(to.Index, from.Index, w.rows, 1)
	give(to.Step, from.Step, w.rows, 1)
	give(to.Lo, from.Lo, w.rows, 1)
	give(to.Hi, from.Hi, w.rows, 1)
}

// give copies rows of the given width to the beginning of to; nothing where there is nothing.
func give[T any](to, from []T, rows []int, width int) {
	if to == nil || from == nil {
		return
	}
	for i, r := range rows {
		copy(to[i*width:(i+1)*width], from[r*width:(r+1)*width])
	}
}
