// Package dfm samples with the corrector of discrete flow matching (Gat et al. 2024, in the form of ReMDM's comparison):
// in a step of dt at mask fraction t masked positions open with probability a dt/t and written ones are masked again with
// probability b dt/(1-t), where b = 10 (t (1-t))^(1/4) and a = 1 + b. What is opened beyond the flow is masked again, so
// the mean mask fraction falls by dt. The planner chooses its own times: steps are shorter near both ends, where the
// probabilities would exceed 1. A row without blanks goes on until its last step. The Euler solver of the flow_matching
// package, on the sampler's grid, is the other form.
package dfm

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "dfm".
type Options struct {
	TimeSteps    int     `option:"time_steps" default:"0" min:"0" help:"longest step in time is 1/time_steps; near both ends of time steps are shorter, so there are more of them than this number. 0 = the largest number whose steps fit into the row's. Where steps are too few, they are longer and the corrector weaker, so that the row ends in time"`
	Solver       string  `option:"solver" default:"corrector" enum:"corrector,euler" help:"corrector: the steps of ReMDM's comparison, on times of its own; euler: those of flow_matching, jumps with probability 1 - exp(-h rate) on the times of sampler.grid"`
	DivFree      float64 `option:"div_free" default:"0" min:"0" help:"euler: strength of the divergence-free part, which masks written positions again and opens as many more; 0 = none"`
	NoiseRemoval string  `option:"noise_removal" default:"draw" enum:"draw,argmax" help:"the last step masks nothing and opens all that is left: with drawn tokens, or with the most probable ones"`
}

// New returns the planner "dfm". The corrector sets the times itself, so sampler.grid has no effect on it. Its metric "remasked" counts
// the positions that a step masks again.
func New() sampling.Planner {
	return sdk.NewRunPlanner("dfm", build, sdk.Needs(sdk.Uniform, sdk.TopK(1)), sdk.NeedsFor(needs), sdk.CanRemask(), sdk.Pure(),
		sdk.Version("1.1.0"), sdk.Summary("discrete flow matching: ancestral steps that also mask again (corrector, Euler solver)"))
}

func needs(o Options) (n sampling.Needs) {
	n.Uniform = true
	if o.NoiseRemoval == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	switch {
	case o.Solver == "euler" && o.TimeSteps > 0:
		return nil, fmt.Errorf("time_steps %d: expected 0 with solver euler, which takes the steps of the row", o.TimeSteps)
	case o.Solver == "euler":
		return o.euler, nil
	case o.DivFree > 0:
		return nil, fmt.Errorf("div_free %v: expected 0 with solver corrector, whose strength is fixed; set planner.solver to euler", o.DivFree)
	}
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
			return o.end(r)
		}
		m := within(r.T, n, r.Steps-r.Step)
		return m.decide(r).NextT(r.T - m.dt)
	}, nil
}

// euler is the step of the other form.
func (o Options) euler(r sdk.Row) sdk.Decision {
	if r.Step >= r.Steps-1 || r.AlphaS >= 1 {
		return o.end(r)
	}
	return jumps(r.AlphaT, r.AlphaS, o.DivFree).decide(r)
}

// end opens everything that is left.
func (o Options) end(r sdk.Row) sdk.Decision {
	if o.NoiseRemoval == "argmax" {
		return r.Fill(sampling.FillArgmax)
	}
	return r.Open(r.Eligible())
}

// decide throws the coins of a step.
func (m move) decide(r sdk.Row) sdk.Decision {
	again := r.Written().Where(func(i int) bool { return r.Uniform[i] < m.remask })
	d := r.Open(r.Eligible().Where(func(i int) bool { return r.Uniform[i] < m.open })).Remask(again).GoOn()
	if again.Len() > 0 {
		d = d.Metric("remasked", float64(again.Len()))
	}
	return d
}
