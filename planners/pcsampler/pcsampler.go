// Package pcsampler is PC-Sampler (Huang et al. 2025): confidence calibrated by how common the drawn token is, so that
// trivial tokens do not come first, times a weight that falls from left to right:
//
//	score(l) = exp(-lambda l) min(alpha, -c(l) ln f(x(l))),    f = frequency of the token in a reference corpus.
package pcsampler

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "pc_sampler".
type Options struct {
	Lambda      float64 `option:"lambda" default:"0.25" min:"0" help:"how fast the weight of positions falls from left to right; 0 for Sudoku, 0.25 mostly, 0.5 for Countdown"`
	Alpha       float64 `option:"alpha" default:"10" min:"0" help:"cap of the calibrated confidence -c ln f (the paper's README prints c ln f, its code has the minus sign)"`
	Frequencies string  `option:"frequencies" help:"JSON file of token frequencies in PC-Sampler's form, {\"num_token\": N, \"p_baseline_dict\": {\"ID\": COUNT, ...}}; absent tokens count 1. Without a file all tokens are equally frequent"`
	Confidence  string  `option:"confidence" default:"drawn" enum:"drawn,max" help:"drawn: probability of the drawn token; max: the largest probability (equal at temperature 0)"`
	On          string  `option:"on" default:"model" enum:"model,tempered,sampling" help:"distribution of the drawn token's probability: before temperature, after it, or after temperature and top_k, top_p, min_p"`
	K           int     `option:"k" default:"1" min:"1" help:"positions opened a step, with the schedules auto and k"`
	Schedule    string  `option:"schedule" default:"auto" enum:"auto,k,uniform,linear,dream,alpha,arccos,cosine,pow2,pow3,pow0.5,log,exp,stochastic_transfer" help:"how many positions each step opens, as for the planner confidence"`
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
