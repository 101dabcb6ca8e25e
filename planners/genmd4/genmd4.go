// Package genmd4 is the sampler of GenMD4 (Shi et al. 2024, "Simplified and Generalized Masked Diffusion for Discrete Data", section
// 6), whose tokens have masking speeds of their own: between the times t and s of the sampler's grid a masked position becomes token
// i with probability mu_i (1 - (s/t)^{w_i}), mu being the denoiser's distribution there, and stays masked otherwise. Tokens with a
// large exponent w are written early.
//
// The host draws the position's proposal x from mu, and the planner opens it with probability 1 - (s/t)^{w_x}: both together are
// that law to the letter, so that nothing but the proposal is read of the vocabulary. Temperature and truncation act on mu alone.
// A position that stays masked is drawn anew in the next step. With equal exponents 1 this is ancestral sampling (MD4, MDLM).
package genmd4

import (
	"errors"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "genmd4".
type Options struct {
	NoiseRemoval string `option:"noise_removal" default:"draw" enum:"draw,argmax" help:"the last step opens everything that is left: with drawn tokens, or with the most probable ones"`
}

// New returns the planner "genmd4". The exponents are the model's; the times come from the sampler (sampler.grid).
func New() sampling.Planner {
	return sdk.NewRunPlanner("genmd4", build, sdk.Needs(sdk.Uniform, sdk.Proposal, sdk.TopK(1)), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens each position with the probability that its token's learned speed gives (GenMD4)"))
}

func needs(o Options) (n sampling.Needs) {
	n.Uniform, n.Proposal = true, true
	if o.NoiseRemoval == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, run sampling.Run) (sdk.PlanRow, error) {
	w := run.Exponents
	switch {
	case w == nil:
		return nil, errors.New("the model has no exponents; train one with trainer genmd4, or choose planner ancestral, which needs none")
	case len(w) < run.V:
		return nil, fmt.Errorf("the model has exponents of %d tokens, expected them of all %d that it can write; save the model anew", len(w), run.V)
	}
	return func(r sdk.Row) sdk.Decision {
		if r.Step >= r.Steps-1 || r.S <= 0 {
			if o.NoiseRemoval == "argmax" {
				return r.Fill(sampling.FillArgmax)
			}
			return r.Open(r.Eligible())
		}
		pace := math.Log(r.S / r.T)
		return r.Open(r.Eligible().Where(func(i int) bool {
			return r.Uniform[i] < -math.Expm1(float64(w[r.Proposal[i]])*pace)
		}))
	}, nil
}
