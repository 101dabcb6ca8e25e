// Package ancestral is the ancestral sampler of masked diffusion (MDLM, Sahoo et al. 2024; MD4, Shi et al. 2024): between
// the times t and s of the sampler's grid every masked position opens with the probability (alpha_s - alpha_t)/(1 -
// alpha_t), independently of the others and of what the model says. With the exact denoiser the samples approach the
// model's joint as the steps grow.
package ancestral

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "ancestral".
type Options struct {
	Form         string `option:"form" default:"coin" enum:"coin,count" help:"coin: each masked position opens with the probability of the reverse process (ddpm); count: as many as expected, rounded, at random positions"`
	NoiseRemoval string `option:"noise_removal" default:"draw" enum:"draw,argmax" help:"the last step opens everything that is left: with drawn tokens, or with the most probable ones (MDLM's noise removal; use it with sampler.grid mdlm)"`
}

// New returns the planner "ancestral". The times come from the sampler (sampler.grid, sampler.eps).
func New() sampling.Planner {
	return sdk.NewRunPlanner("ancestral", build, sdk.Needs(sdk.Uniform, sdk.TopK(1)), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens each position with the probability of the reverse process (MDLM, MD4; ddpm)"))
}

func needs(o Options) (n sampling.Needs) {
	n.Uniform = true
	if o.NoiseRemoval == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	return func(r sdk.Row) sdk.Decision {
		switch {
		case r.Step >= r.Steps-1 && o.NoiseRemoval == "argmax":
			return r.Fill(sampling.FillArgmax)
		case o.Form == "count":
			k := int(math.RoundToEven(float64(r.Masked().Len()) * count.Transfer(r)))
			return r.Open(r.Eligible().SmallestBy64(r.Uniform, k))
		}
		return r.Open(count.Binomial(r))
	}, nil
}
