package spread

import "github.com/mdmhost/mdmhost/framework/sampling"

// meet is what two runtimes both can do.
func meet(a, b sampling.Capabilities) sampling.Capabilities {
	least := func(x, y int) int { // 0 sets no limit
		if x == 0 || y != 0 && y < x {
			return y
		}
		return x
	}
	a.VocabDots, a.State, a.Padding = min(a.VocabDots, b.VocabDots), a.State && b.State, a.Padding && b.Padding
	a.MaxRows, a.FixedRows, a.MaxLength = least(a.MaxRows, b.MaxRows), least(a.FixedRows, b.FixedRows), least(a.MaxLength, b.MaxLength)
	if a.Provider != b.Provider {
		a.Provider += "+" + b.Provider
	}
	s, o := &a.Serves, &b.Serves
	s.Proposal, s.P1, s.P2, s.LogpCurrent, s.KLPrev = s.Proposal && o.Proposal, s.P1 && o.P1, s.P2 && o.P2, s.LogpCurrent && o.LogpCurrent, s.KLPrev && o.KLPrev
	s.PlannerScore, s.Uniform, s.Gumbel, s.FrozenGap = s.PlannerScore && o.PlannerScore, s.Uniform && o.Uniform, s.Gumbel && o.Gumbel, s.FrozenGap && o.FrozenGap
	s.InsertionRate, s.UnmaskRate = s.InsertionRate && o.InsertionRate, s.UnmaskRate && o.UnmaskRate
	s.LogpLeaveOneOut, s.Logits = s.LogpLeaveOneOut && o.LogpLeaveOneOut, s.Logits && o.Logits
	s.LogpProposal, s.PeaksOn, s.Entropy, s.TopK = min(s.LogpProposal, o.LogpProposal), min(s.PeaksOn, o.PeaksOn), min(s.Entropy, o.Entropy), min(s.TopK, o.TopK)
	return a
}

// widenCaps counts the rows of n members, which share a batch evenly.
func (d *Denoiser) widenCaps(n int) {
	d.caps.MaxRows *= n
	d.caps.FixedRows *= n
}
