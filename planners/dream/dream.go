// Package dream holds the four algorithms of Dream's generate function (Ye et al. 2025): origin flips a coin per masked
// position; the others open int(masked (1 - s/t)) positions by confidence (maskgit_plus), by p1 - p2 (topk_margin) or by
// entropy. Times follow linspace(1, eps, steps+1); the last step opens everything.
package dream

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "dream".
type Options struct {
	Alg     string  `option:"alg" default:"origin" enum:"origin,maskgit_plus,topk_margin,entropy" help:"origin: a coin per position; maskgit_plus: largest probability of the drawn token; topk_margin: largest p1 - p2; entropy: smallest entropy"`
	AlgTemp float64 `option:"alg_temp" default:"0" min:"0" help:"positions are drawn without replacement with weights softmax(score/alg_temp); 0 (Dream's None) takes the best"`
	Eps     float64 `option:"eps" default:"0.001" min:"0" max:"1" help:"last time of the grid linspace(1, eps, steps+1) that the counts follow"`
	On      string  `option:"on" default:"model" enum:"model,tempered,sampling" help:"distribution of the scores: model = before temperature; sampling = after temperature, top_k, top_p and min_p, Dream's own choice, which saturates at temperatures of 0.2 and less: all confidences are 1, and ties silently open from left to right; tempered = after temperature alone, which entropy does not take. At temperature 0 all three are the model's"`
}

var measures = map[string]string{"maskgit_plus": "drawn", "topk_margin": "margin", "entropy": "entropy"}

// New returns the planner "dream". Counts are those of each row: Dream's code takes the mean of the batch, by which rows
// can open more than they have. Steps whose count is zero cost no forward pass.
func New() sampling.Planner {
	return sdk.NewRunPlanner("dream", build, sdk.Needs(sdk.LogpProposal, sdk.P1, sdk.P2, sdk.Entropy, sdk.Uniform, sdk.Gumbel), sdk.NeedsFor(needs),
		sdk.Pure(), sdk.Version("1.0.0"), sdk.Summary("the algorithms of Dream: origin, maskgit_plus, topk_margin, entropy"))
}

func needs(o Options) sampling.Needs {
	if o.Alg == "origin" {
		return sampling.Needs{Uniform: true}
	}
	n := certainty.NeedsOf(measures[o.Alg], o.On)
	n.Gumbel = o.AlgTemp > 0
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	if o.Alg == "origin" {
		return func(r sdk.Row) sdk.Decision {
			p := count.DreamTransfer(o.Eps, r.Step, r.Steps)
			return r.Open(r.Eligible().Where(func(i int) bool { return r.Uniform[i] < p }))
		}, nil
	}
	c, err := certainty.New(measures[o.Alg], o.On)
	if err != nil {
		return nil, err
	}
	return count.Dream(o.Eps).Rule(func(r sdk.Row, k, _ int) sdk.Positions {
		score := c.Of(r)
		if o.AlgTemp == 0 {
			return r.Eligible().LargestBy64(score, k)
		}
		for i := range score {
			score[i] /= o.AlgTemp
		}
		return r.Eligible().DrawBy64(score, r.Gumbel, k)
	}), nil
}
