package gillespie

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// weight is G of a position of a row, in [0, 1].
type weight func(r *sampling.Row, i int) float64

// weights are G_M of masked and G_U of written positions; G_U is nil where written positions are kept.
type weights struct{ masked, written weight }

func weightsOf(o Options) weights {
	of := map[string]weight{
		"uniform":     func(*sampling.Row, int) float64 { return 1 },
		"margin":      func(r *sampling.Row, i int) float64 { return float64(r.P1[i]) - float64(r.P2[i]) },
		"neg_entropy": func(r *sampling.Row, i int) float64 { return math.Exp(-float64(r.Entropy[i])) },
	}
	w := weights{of[o.MaskScore], of[o.UnmaskScore]}
	if o.MaskScore == "denoiser" {
		w.masked = func(r *sampling.Row, i int) float64 { return math.Exp(float64(r.LogpProposal[i])) }
	}
	if o.UnmaskScore == "denoiser" {
		w.written = func(r *sampling.Row, i int) float64 { return math.Exp(float64(r.LogpCurrent[i])) }
	}
	return w
}

// chain decides for rows, one position at a time.
type chain struct {
	weights
	anew map[int]int32 // by slot: the position that was masked to be drawn anew
	sums []float64     // [n] weights up to and including a position
}

// forget drops what is known of rows that are done.
func (c *chain) forget(rows []sampling.RowState) {
	for _, r := range rows {
		if r.Done {
			delete(c.anew, r.Slot)
		}
	}
}

// decide changes one position of the row: the one that waits to be drawn anew, else one drawn by weight with the uniform
// of the window's first position. Where all weights are 0 nothing is preferred any more, and the rest opens.
func (c *chain) decide(r *sampling.Row) (sampling.Decision, error) {
	if i, waits := c.anew[r.Slot]; waits {
		delete(c.anew, r.Slot)
		return sampling.Decision{Open: []int32{i}}, nil
	}
	sum := 0.0
	c.sums = c.sums[:0]
	for i, f := range r.Flags {
		switch {
		case f&sampling.Eligible != 0:
			sum += max(c.masked(r, i), 0)
		case f&(sampling.Masked|sampling.Fixed) == 0 && c.written != nil:
			if r.Proposal[i] < 0 {
				return sampling.Decision{}, errKept // the host is of an early version and did not tell at the start
			}
			sum += max(1-c.written(r, i), 0)
		}
		c.sums = append(c.sums, sum)
	}
	if sum <= 0 {
		return sampling.Decision{Fill: sampling.FillDraw}, nil
	}
	i := pick(c.sums, r.Uniform[0])
	switch {
	case r.Flags[i]&sampling.Masked != 0:
		return sampling.Decision{Open: []int32{i}}, nil
	case r.Step >= r.Steps-1:
		return sampling.Decision{}, nil // no step is left to draw it in
	}
	c.anew[r.Slot] = i
	return sampling.Decision{Remask: []int32{i}}, nil
}

// pick returns the first position whose running sum exceeds u times the whole, so that positions of weight 0 are never it.
func pick(sums []float64, u float64) int32 {
	whole := sums[len(sums)-1]
	for i, s := range sums {
		if s > float64(u*whole) {
			return int32(i)
		}
	}
	i := len(sums) - 1
	for i > 0 && sums[i-1] == whole { // rounding ate the gap below 1
		i--
	}
	return int32(i)
}
