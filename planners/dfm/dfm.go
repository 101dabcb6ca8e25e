// Package dfm samples with the corrector of discrete flow matching (Gat et al. 2024, in the form of ReMDM's comparison):
// in a step of dt at mask fraction t masked positions open with probability a dt/t and written ones are masked again with
// probability b dt/(1-t), where b = 10 (t (1-t))^(1/4) and a = 1 + b. What is opened beyond the flow is masked again, so
// the mean mask fraction falls by dt. The planner chooses its own times: steps are shorter near both ends, where the
// probabilities would exceed 1. A row without blanks goes on until its last step.
package dfm

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "dfm".
type Options struct {
	TimeSteps    int    `option:"time_steps" default:"0" min:"0" help:"longest step in time is 1/time_steps; near both ends of time steps are shorter, so there are more of them than this number. 0 = the largest number whose steps fit into the row's. Where steps are too few, they are longer and the corrector weaker, so that the row ends in time"`
	NoiseRemoval string `option:"noise_removal" default:"draw" enum:"draw,argmax" help:"the last step masks nothing and opens all that is left: with drawn tokens, or with the most probable ones"`
}

// New returns the planner "dfm". It sets the times itself, so sampler.grid has no effect. Its metric "remasked" counts
// the positions that a step masks again.
func New() sampling.Planner {
	return sdk.NewRunPlanner("dfm", build, sdk.Needs(sdk.Uniform, sdk.TopK(1)), sdk.NeedsFor(needs), sdk.CanRemask(), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("ancestral steps with the corrector of discrete flow matching, on times of its own"))
}

func needs(o Options) (n sampling.Needs) {
	n.Uniform = true
	if o.NoiseRemoval == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	fits := map[int]int{} // time steps by the row's steps
	return func(r sdk.Row) sdk.Decision {
		if math.Abs(r.AlphaT-(1-r.T)) > 1e-6 {
			return r.Fail(fmt.Errorf("alpha is %v at time %v: expected 1 - t; the corrector's rates are those of the linear noise schedule, take a sampler that has it, such as masked", r.AlphaT, r.T))
		}
		n := o.TimeSteps
		if n == 0 {
			if n = fits[r.Steps]; n == 0 {
				n = fit(r.Steps)
				fits[r.Steps] = n
			}
		}
		if r.Step >= r.Steps-1 || last(r.T, n) {
			if o.NoiseRemoval == "argmax" {
				return r.Fill(sampling.FillArgmax)
			}
			return r.Open(r.Eligible())
		}
		m := within(r.T, n, r.Steps-r.Step)
		again := r.Written().Where(func(i int) bool { return r.Uniform[i] < m.remask })
		d := r.Open(r.Eligible().Where(func(i int) bool { return r.Uniform[i] < m.open })).Remask(again).NextT(r.T - m.dt).GoOn()
		if again.Len() > 0 {
			d = d.Metric("remasked", float64(again.Len()))
		}
		return d
	}, nil
}
