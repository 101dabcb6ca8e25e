// Package insertion samples insertion models by tau-leaping (FlexMDM, LoFlexMDM; methods/loflexmdm.md, section 4.8): m_in are the rates of
// gaps and m_um those of masks, both per unit of the clock U(t) = -log(1 - t^a). In a step every mask opens and every gap receives masks by the rates
// of the row before the step; new masks wait for the next one, and the last step opens what is left. A masked model is the case without
// gaps and with m_um = 1.
package insertion

import (
	"context"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the sampler "insertion".
type Options struct {
	Grid        string  `option:"grid" default:"clock" enum:"clock,code,uniform" help:"times of the steps: clock = even in the clock U up to u_max; code = t = k/(steps+1), that of the public samplers; uniform = t = k/steps. clock needs several times fewer steps"`
	UMax        float64 `option:"u_max" default:"0" min:"0" max:"700" help:"with grid clock: the clock at which the last step ends; 0 = log(steps) + 4. What is still missing there stays missing: a token of speed b with probability exp(-b u_max)"`
	Events      string  `option:"events" default:"integrated" enum:"integrated,poisson,euler" help:"what happens in a step: integrated = a mask opens with 1 - exp(-m_um dU), a gap receives Poisson(m_in (1 - exp(-dU))); poisson = the same with h(t) dt for dU and m_in h(t) dt (the papers); euler = min(1, rate dt), at most one a gap"`
	Confidence  string  `option:"confidence" default:"none" enum:"none,top_prob,prob_diff,entropy,rates,top_rate" help:"which masks open: none = as the events fell; else as many, those with the highest p1, p1 - p2, -H, m_um, or m_um p1, p1 and p2 after temperature, H before. The law stays exact only where all speeds are equal"`
	Window      bool    `option:"window" default:"false" help:"with a confidence: only the first min(5 k, 32) masks may open, k the number to open"`
	Final       string  `option:"final" default:"draw" enum:"draw,argmax" help:"what the last step writes at masks: draw = a draw like all others; argmax = the most probable token (the papers)"`
	Overflow    string  `option:"overflow" default:"reject" enum:"reject,truncate" help:"where a step inserts more than the row may grow by: reject = it inserts nothing in that row; truncate = it fills up from the left"`
	MaxRateStep float64 `option:"max_rate_step" default:"0" min:"0" max:"1000" help:"above 0, with grid clock: steps of unequal length, each as long as no rate of a free gap or mask times dU exceeds this; 0.1 keeps gaps from receiving more than they miss. steps is then a cap: longer steps are taken where it would not suffice. 0 = off"`
}

// New returns the sampler. The planner is not asked.
func New() sampling.Sampler {
	return sampler{sdk.NewSampler("insertion", build,
		sdk.Needs(sdk.Uniform, sdk.InsertionRate, sdk.UnmaskRate, sdk.FrozenGap, sdk.P1, sdk.P2, sdk.Entropy, sdk.TopK(1)),
		sdk.NeedsFor(needs), sdk.CanInsert(), sdk.Adaptive(), sdk.Version("1.0.0"),
		sdk.Summary("tau-leaping of insertion models: rows grow while their masks open (FlexMDM, LoFlexMDM)"))}
}

// sampler asks for what its run has: the options alone do not tell the model's family.
type sampler struct{ sampling.Sampler }

// Start implements [sampling.Sampler].
func (s sampler) Start(ctx context.Context, run sampling.Run) (sampling.Needs, error) {
	n, err := s.Sampler.Start(ctx, run)
	if run.Insertion == nil {
		n.InsertionRate, n.UnmaskRate, n.FrozenGap = false, false, false
	}
	switch run.Temperature {
	case 0: // every proposal is the most probable token
		n.TopK = 0
	case 1:
	default:
		if n.P1 {
			n.PeaksOn = sampling.OnTempered
		}
	}
	return n, err
}

// needs has no proposals, which the host writes by itself: so a step that changes nothing costs models without a time input no pass.
func needs(o Options) sampling.Needs {
	n := sampling.Needs{Uniform: true, InsertionRate: true, UnmaskRate: true, FrozenGap: true}
	n.P1 = o.Confidence == "top_prob" || o.Confidence == "prob_diff" || o.Confidence == "top_rate"
	n.P2 = o.Confidence == "prob_diff"
	if o.Confidence == "entropy" {
		n.Entropy = sampling.OnModel
	}
	if o.Final == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, run sampling.Run) (sdk.SampleFunc, error) {
	refuse := func(problem, hint string) error {
		return &sampling.Error{Code: sampling.InvalidConfig, Object: "sampler insertion", Problem: problem, Hint: hint}
	}
	switch {
	case slices.ContainsFunc(run.Exponents, func(w float32) bool { return w != 1 }):
		return nil, refuse("opens every mask of a masked model at one speed, and this model's tokens have speeds of their own", "use --sampler masked --planner genmd4")
	case o.Window && o.Confidence == "none":
		return nil, refuse("window narrows which masks a confidence chooses from, but confidence is none", "set sampler.confidence, or leave out sampler.window")
	case o.MaxRateStep > 0 && o.Grid != "clock":
		return nil, refuse("max_rate_step places the steps itself, but grid is "+o.Grid, "leave out sampler.grid, or sampler.max_rate_step")
	case o.UMax > 0 && o.Grid != "clock":
		return nil, refuse("u_max ends the grid clock, but grid is "+o.Grid, "leave out sampler.grid, or sampler.u_max")
	}
	return func(ctx context.Context, s sampling.Session) error {
		return newDriver(o, run.Insertion).drive(ctx, s)
	}, nil
}
