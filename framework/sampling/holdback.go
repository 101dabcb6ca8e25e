package sampling

import (
	"math"
	"slices"
)

// holdBack makes tokens that may be drawn open last (begin_suppress_tokens of dllm, confidence_eos_eot_inf of LLaDA, whose
// confidence of them is -inf): where the proposal of a masked position is one of them, the statistics that planners rank
// by are those of no confidence at all: p1 = p2 = 0, log-probability and planner score -Inf, entropy ln V, which no
// distribution exceeds. Tokens, candidates and logits stay as they are, and so does the log-probability in results.
func (l *Loop) holdBack() {
	p := &l.pass
	if len(l.HoldBack) == 0 {
		return
	}
	st := p.stats
	if len(p.drawn) == 0 { // else the pass was held back before its planner scores came
		p.drawn = append(p.drawn, st.LogpProposal...)
	}
	none, most := float32(math.Inf(-1)), float32(math.Log(float64(l.V)))
	for i, a := range p.live {
		c := l.slots[a.Slot]
		for j := c.lo; j < c.hi; j++ {
			at := i*st.L + j
			if c.flags[j]&Masked == 0 || !slices.Contains(l.HoldBack, st.Proposal[at]) {
				continue
			}
			set(st.LogpProposal, at, none)
			set(st.P1, at, 0)
			set(st.P2, at, 0)
			set(st.Entropy, at, most)
			set(p.scores, at, none)
		}
	}
}

// set changes a statistic that somebody asked for.
func set(column []float32, at int, value float32) {
	if len(column) > 0 {
		column[at] = value
	}
}
