// Package hierarchy spreads what a step opens over the row (dInfer, Ma et al. 2025, hierarchical decoding): the surest
// position of every run of masked positions, so that neighbours, which depend on each other the most, do not open together.
package hierarchy

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "hierarchy".
type Options struct {
	LowThreshold float64 `option:"low_threshold" default:"0.4" min:"0" help:"the surest position of each run of masks opens if its confidence exceeds this; if no run has one, the single surest does"`
	Threshold    float64 `option:"threshold" default:"inf" min:"0" help:"positions whose confidence exceeds this open in any case; inf (dInfer's None) = off"`
	certainty.Drawn
	certainty.Distribution
}

// New returns the planner "hierarchy". Its steps are only a cap.
func New() sampling.Planner {
	return sdk.NewRunPlanner("hierarchy", build, sdk.Needs(sdk.P1, sdk.LogpProposal), sdk.NeedsFor(needs), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens the surest position of every run of masked positions (dInfer)"))
}

func needs(o Options) sampling.Needs { return certainty.NeedsOf(o.Confidence, o.On) }

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	best := map[int]bool{} // the surest positions of the runs
	return func(r sdk.Row) sdk.Decision {
		score, eligible := c.Of(r), r.Eligible()
		clear(best)
		at := eligible.Indices()
		for lo := 0; lo < len(at); {
			hi, top := lo, int(at[lo])
			for ; hi < len(at) && int(at[hi])-int(at[lo]) == hi-lo; hi++ {
				if score[at[hi]] > score[top] {
					top = int(at[hi])
				}
			}
			best[top] = true
			lo = hi
		}
		open := eligible.Where(func(i int) bool { return score[i] > o.Threshold || score[i] > o.LowThreshold && best[i] })
		if open.Len() == 0 {
			open = eligible.LargestBy64(score, 1)
		}
		return r.Open(open)
	}, nil
}
