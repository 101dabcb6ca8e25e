// Package density prefers sure positions that lie near what is known (certainty density, d2Cache, Jiang et al. 2025): the
// confidence times a Gaussian average of "this position is known". It pulls decoding towards the prompt and what is
// written, as blocks do, without their edges.
package density

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "density".
type Options struct {
	Sigma float64 `option:"sigma" default:"10" min:"0.1" max:"10000" help:"standard deviation of the Gaussian in positions; smaller keeps closer to what is known"`
	certainty.Largest
	certainty.Distribution
	count.Options
}

// New returns the planner "density".
func New() sampling.Planner {
	return sdk.NewRunPlanner("density", build, sdk.Needs(sdk.P1, sdk.LogpProposal, sdk.Uniform), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens sure positions near what is known first (certainty density of d2Cache)"))
}

func needs(o Options) sampling.Needs {
	return count.Needs(o.Schedule, certainty.NeedsOf(o.Confidence, o.On))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	known := newSmooth(o.Sigma)
	return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions {
		score, eligible := c.Of(r), r.Eligible()
		if k < eligible.Len() {
			right := 0
			if r.Behind == 0 { // else what lies there is masked, or not told apart from what is
				right = max(r.Length-r.Offset-len(r.Flags), 0)
			}
			near := known.over(r.Flags, right, eligible.Indices())
			for _, i := range eligible.Indices() {
				score[i] *= near[i]
			}
		}
		return eligible.LargestBy64(score, k)
	})
}
