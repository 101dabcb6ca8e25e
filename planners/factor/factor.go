// Package factor opens as many positions at once as their confidences justify (Fast-dLLM, Wu et al. 2025, theorem 1): in
// descending order of confidence, the longest prefix whose n-th member fulfils (n+1)(1 - c) < factor. If n tokens all have
// c > 1 - e and (n+1) e <= 1, the most probable joint choice is made of the most probable tokens.
package factor

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "factor".
type Options struct {
	Factor     float64 `option:"factor" default:"1" min:"0" help:"the n-th surest position opens if (n+1)(1 - c) is below it; 0 opens one position a step. The public loops are off by one at the end: one opens all where only the last fails, the other never opens the last"`
	MaxPerStep int     `option:"max_per_step" default:"0" min:"0" help:"positions opened a step at most; 0 = no limit"`
	certainty.Largest
	certainty.Distribution
}

// New returns the planner "factor". Its steps are only a cap.
func New() sampling.Planner {
	return sdk.NewRunPlanner("factor", build, sdk.Needs(sdk.P1, sdk.LogpProposal), sdk.NeedsFor(needs), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens the longest prefix of positions that is surer the longer it is (Fast-dLLM)"))
}

func needs(o Options) sampling.Needs { return certainty.NeedsOf(o.Confidence, o.On) }

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	return func(r sdk.Row) sdk.Decision {
		score, eligible := c.Of(r), r.Eligible()
		passes := func(n int, i int32) bool { return float64(n+1)*(1-score[i]) < o.Factor }
		// What fails as the second of the order fails as any later one: only the others need an order.
		order := eligible.Where(func(i int) bool { return passes(2, int32(i)) })
		if order.Len() == 0 {
			return r.Open(eligible.LargestBy64(score, 1))
		}
		most := order.Len()
		if o.MaxPerStep > 0 {
			most = min(most, o.MaxPerStep)
		}
		order = order.LargestBy64(score, most)
		n := 1
		for n < order.Len() && passes(n+1, order.Indices()[n]) {
			n++
		}
		return r.Open(order.First(n))
	}, nil
}
