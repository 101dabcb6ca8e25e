package sampling

import (
	"fmt"
	"math"
	"slices"
)

// notDrawn is the log-probability of a mask.
var notDrawn = float32(math.NaN())

// rates holds what the model says of gaps and masks against what rates can be, and ends the rows where it is none. Frozen gaps
// have rate 0 whatever the model says of them.
func (l *Loop) rates() {
	p := &l.pass
	st := p.stats
	if l.Growth == nil {
		return
	}
	for i, a := range p.live {
		c := l.slots[a.Slot]
		if c.finish != "" {
			continue
		}
		fail := func(what string, rate float32) {
			c.finish = FinishError
			hint := "its ONNX file yields it for these tokens, and its head should clip what it takes the exponential of"
			if len(c.tokens) == 0 {
				hint = "it must bear a row without tokens, all padding with attention_mask 0, or be given text to begin with"
			}
			c.err = fmt.Errorf("row %d, step %d, %s is %v, expected a finite number from 0; check the model: %s", c.request.name(), c.step, what, rate, hint)
		}
		if st.InsertionRate != nil {
			rates := st.InsertionRate[i*(st.L+1):][:len(c.tokens)+1]
			for g, frozen := range c.grows.frozen {
				if frozen != 0 {
					rates[g] = 0
				} else if !sound(rates[g]) {
					fail(fmt.Sprintf("gap %d: the insertion rate", g), rates[g])
					break
				}
			}
		}
		if st.UnmaskRate != nil && c.finish == "" {
			for j, rate := range st.UnmaskRate[i*st.L:][:len(c.tokens)] {
				if c.flags[j]&Masked != 0 && !sound(rate) {
					fail(fmt.Sprintf("position %d: the unmasking rate", j), rate)
					break
				}
			}
		}
	}
}

// sound tells whether a number is a rate.
func sound(rate float32) bool { return rate >= 0 && rate <= math.MaxFloat32 }

// layGaps points row i of the pass at what needs names of insertion models. Unmask rates are 0 where nothing is masked, and 1
// at masks where the model learned none.
func (l *Loop) layGaps(r *Row, c *canvas, i int, needs *Needs) {
	p, n := &l.pass, len(c.tokens)
	st := p.stats
	r.Room = c.room()
	if needs.FrozenGap {
		r.FrozenGap = c.grows.frozen
	}
	if needs.InsertionRate && st.InsertionRate != nil {
		r.InsertionRate = st.InsertionRate[i*(st.L+1):][:n+1]
	}
	if needs.InsertionRate && needs.Uniform {
		size := len(p.live) * (st.L + 1)
		p.gapUniform = slices.Grow(p.gapUniform[:0], size)[:size]
		r.GapUniform = p.gapUniform[i*(st.L+1):][:n+1]
		c.stream.Uniforms(r.GapUniform, c.stream.row, c.step, 0, PurposeGap)
	}
	if needs.UnmaskRate {
		size := len(p.live) * st.L
		p.unmask = slices.Grow(p.unmask[:0], size)[:size]
		r.UnmaskRate = p.unmask[i*st.L:][:n]
		for j := range r.UnmaskRate {
			switch {
			case c.flags[j]&Masked == 0:
				r.UnmaskRate[j] = 0
			case st.UnmaskRate != nil:
				r.UnmaskRate[j] = st.UnmaskRate[i*st.L+j]
			default:
				r.UnmaskRate[j] = 1
			}
		}
	}
}
