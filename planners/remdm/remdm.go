// Package remdm samples by remasking (ReMDM, Wang et al. 2025): between the times t and s of the sampler's grid every
// written position is masked again with a probability sigma, and masked ones open with the probability that makes up for
// it, so that P(written) is alpha_s whatever sigma is. Tokens written early can so be drawn anew with more in sight.
// Forward-backward steps (Campbell et al. 2022) are the case where as much is masked again as ancestral sampling opened.
// A row without blanks goes on as long as a step may mask some of it again.
package remdm

import (
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "remdm".
type Options struct {
	Strategy     string  `option:"strategy" default:"cap" enum:"cap,rescale,conf,loop,forward_backward" help:"probability sigma of masking a written position again: cap = min(eta, sigma_max); rescale = eta sigma_max; conf = w eta sigma_max, w = softmax of minus the probability that the token had when it was written; loop = fill up to alpha_on, revise there with sigma = eta, then fill the rest; forward_backward = as much as ancestral sampling opens. sigma_max = min(1, (1-alpha_s)/alpha_t)"`
	Eta          float64 `option:"eta" default:"-1" min:"-1" max:"1" help:"strength of remasking; 0 = ancestral; below 0 = the strategy's own: cap 0.008, rescale 0.015, loop 0.02, conf 1 (public code). The paper's are for 1024 steps: let eta shrink like 1/steps, for with a fixed eta positions are drawn anew side by side in every step, and more steps mend little. forward_backward has no eta"`
	TSwitch      float64 `option:"t_switch" default:"1" min:"0" max:"1" help:"remask only at mask fractions below this one (ReMDM-switch); 0 = ancestral; loop has t_on and t_off instead"`
	TOn          float64 `option:"t_on" default:"0.55" min:"0" max:"1" help:"loop: mask fraction of the grid at which revising begins"`
	TOff         float64 `option:"t_off" default:"0.05" min:"0" max:"1" help:"loop: mask fraction of the grid at which revising ends"`
	AlphaOn      float64 `option:"alpha_on" default:"0.9" min:"0" max:"1" help:"loop: fraction written while revising."`
	NoiseRemoval string  `option:"noise_removal" default:"draw" enum:"draw,argmax" help:"the last step masks nothing and opens all that is left: with drawn tokens, or with the most probable ones (public code, with sampler.grid mdlm)"`
}

// own are the strategies' own strengths (kuleshov-group/remdm).
var own = map[string]float64{"cap": 0.008, "rescale": 0.015, "conf": 1, "loop": 0.02}

// New returns the planner "remdm". Its metric "remasked" counts the positions that a step masks again.
func New() sampling.Planner {
	return sdk.NewRunPlanner("remdm", build, sdk.Needs(sdk.Uniform, sdk.LogpProposal, sdk.TopK(1)), sdk.NeedsFor(needs), sdk.CanRemask(),
		sdk.Version("1.0.0"), sdk.Summary("ancestral steps that also mask written positions again (ReMDM; forward-backward)"))
}

func needs(o Options) (n sampling.Needs) {
	n.Uniform = true
	if o.Strategy == "conf" {
		n.LogpProposal = sampling.OnModel
	}
	if o.NoiseRemoval == "argmax" {
		n.TopK = 1
	}
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	if o.Eta < 0 {
		o.Eta = own[o.Strategy]
	}
	if o.Strategy == "loop" {
		switch {
		case o.TSwitch != 1:
			return nil, errors.New("t_switch: the strategy loop revises between t_on and t_off; leave t_switch out, or set those")
		case !(o.TOff <= o.TOn && o.TOn < 1):
			return nil, fmt.Errorf("t_on %v, t_off %v: expected t_off <= t_on < 1; times fall from 1 to 0", o.TOn, o.TOff)
		}
	}
	var told confidence
	return func(r sdk.Row) sdk.Decision {
		if r.Step >= r.Steps-1 {
			if o.NoiseRemoval == "argmax" {
				return r.Fill(sampling.FillArgmax)
			}
			return r.Open(r.Eligible())
		}
		m, written := o.move(r.AlphaT, r.AlphaS), r.Written()
		weight := func(int) float64 { return 1 }
		if o.Strategy == "conf" {
			weight = told.weights(r, written)
		}
		open := r.Eligible().Where(func(i int) bool { return r.Uniform[i] < m.open })
		again := written.Where(func(i int) bool { return r.Uniform[i] < m.remask*weight(i) })
		if o.Strategy == "conf" {
			told.remember(r, open)
		}
		d := r.Open(open).Remask(again)
		if again.Len() > 0 {
			d = d.Metric("remasked", float64(again.Len()))
		}
		if o.revises(1 - r.AlphaS) {
			d = d.GoOn()
		}
		return d
	}, nil
}
