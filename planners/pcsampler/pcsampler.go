// Package pcsampler is PC-Sampler (Huang et al. 2025): confidence calibrated by how common the drawn token is, so that
// trivial tokens do not come first, times a weight that falls from left to right:
//
//	score(l) = exp(-lambda l) min(alpha, -c(l) ln f(x(l))),    f = frequency of the token in a reference corpus.
package pcsampler

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "pc_sampler".
type Options struct {
	Lambda      float64 `option:"lambda" default:"0.25" min:"0" help:"how fast the weight of positions falls from left to right; 0 for Sudoku, 0.25 mostly, 0.5 for Countdown"`
	Alpha       float64 `option:"alpha" default:"10" min:"0" help:"cap of the calibrated confidence -c ln f (the paper's README prints c ln f, its code has the minus sign)"`
	Frequencies string  `option:"frequencies" file:"true" help:"JSON file of token frequencies in PC-Sampler's form, {\"num_token\": N, \"p_baseline_dict\": {\"ID\": COUNT, ...}}; absent tokens count 1. Without a file all tokens are equally frequent"`
	certainty.Drawn
	certainty.Distribution
	count.Options
}

// New returns the planner "pc_sampler".
func New() sampling.Planner {
	return sdk.NewRunPlanner("pc_sampler", build, sdk.Needs(sdk.Proposal, sdk.LogpProposal, sdk.P1, sdk.Uniform), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens by confidence calibrated for common tokens, from left to right (PC-Sampler)"))
}

func needs(o Options) sampling.Needs {
	n := count.Needs(o.Schedule, certainty.NeedsOf(o.Confidence, o.On))
	n.Proposal = true
	return n
}

func build(o Options, run sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	rare := uniform(run.V)
	if o.Frequencies != "" {
		if rare, err = read(o.Frequencies); err != nil {
			return nil, err
		}
	}
	return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions {
		score, eligible := c.Of(r), r.Eligible()
		for _, i := range eligible.Indices() {
			// In logarithms, so that far positions keep an order where the weight itself vanishes. Where the count starts
			// changes no order.
			score[i] = math.Log(min(o.Alpha, score[i]*rare.of(r.Proposal[i]))) - o.Lambda*float64(i)
		}
		return eligible.LargestBy64(score, k)
	})
}
