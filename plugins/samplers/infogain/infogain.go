// Package infogain weighs candidates by what they do to the rest (Information Gain, Info-Gain Sampler): each step writes
// several sets of positions for trial, one forward pass each, and keeps the set a with the smallest
//
//	J(a) = sum over i in a of H_i + mean over the masked rest of H_i after a,
//
// H_i the entropy in nats of what the model says of position i. With C candidates a step costs C + 1 forward passes.
package infogain

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the sampler "infogain", with the names of the public code.
type Options struct {
	CandidateNumber     int     `option:"candidate_number" default:"8" min:"1" max:"1024" help:"sets of positions weighed against each other in a step, one forward pass each beside the step's own. The first is greedy, the k most probable proposals; equal sets are weighed once, and where all are equal nothing is weighed"`
	PositionTemperature float64 `option:"position_temperature" default:"0.1" min:"0" max:"1000" help:"the other sets are the k largest of probability / position_temperature + Gumbel noise; 0 = greedy, without candidates"`
	K                   int     `option:"k" default:"1" min:"1" max:"1048576" help:"positions of a set, which is what a step opens; with fewer steps than k needs, the blanks are spread evenly over them"`
	Threshold           float64 `option:"threshold" default:"0" min:"0" max:"1" help:"above 0: proposals of at least this probability open without being weighed, at most k of them; the public evaluations use 0.8 and 0.9. 0 = off"`
	Variant             string  `option:"variant" default:"info_gain" enum:"info_gain,lookum" help:"info_gain = entropy of what opens + mean entropy of the rest after it; lookum = the second term alone"`
}

// New returns the sampler. The planner is not asked. The steps of a row are a cap: at the last one the rest opens at once.
func New() sampling.Sampler {
	return sdk.NewSampler("infogain", build, sdk.Needs(sdk.Proposal, sdk.LogpProposal, sdk.Entropy, sdk.Uniform), sdk.Version("1.0.0"),
		sdk.Summary("weighs sets of positions by trial: entropy of what opens + mean entropy of the rest after it (Info-Gain, LookUM)"))
}

func build(o Options, _ sampling.Run) (sdk.SampleFunc, error) {
	return func(ctx context.Context, s sampling.Session) error {
		return (&driver{session: s, options: o}).drive(ctx)
	}, nil
}

// driver steps all rows together, and replaces those that are finished.
type driver struct {
	session sampling.Session
	options Options
	rows    []sampling.Advance
	choices []choice
	trials  []sampling.Advance
}

func (d *driver) drive(ctx context.Context) error {
	return sdk.Drive(ctx, d.session, func(active []sampling.RowState) ([]sampling.RowState, error) {
		if err := d.propose(ctx, active); err != nil {
			return nil, err
		}
		if err := d.weigh(ctx); err != nil {
			return nil, err
		}
		decisions := make([]sampling.Decision, len(d.choices))
		for i := range d.choices {
			decisions[i] = d.choices[i].decide(d.options.Variant == "lookum")
		}
		return d.session.Apply(ctx, decisions)
	})
}

// propose runs the step's own pass and finds the candidates of every row.
func (d *driver) propose(ctx context.Context, active []sampling.RowState) error {
	d.rows = d.rows[:0]
	for _, r := range active {
		d.rows = append(d.rows, sdk.ByMasks(r))
	}
	step, err := d.session.Denoise(ctx, d.rows)
	if err != nil {
		return err
	}
	d.choices = d.choices[:0]
	for i := range step.Rows {
		d.choices = append(d.choices, d.options.candidates(&step.Rows[i]))
	}
	return nil
}

// weigh tries all candidates of all rows where a row has more than one.
func (d *driver) weigh(ctx context.Context) error {
	d.trials = d.trials[:0]
	var of []*choice // by trial
	for i := range d.choices {
		c := &d.choices[i]
		if len(c.sets) < 2 {
			continue
		}
		for j := range c.sets {
			d.trials, of = append(d.trials, sampling.Advance{Slot: c.slot, T: c.t, S: c.t, AlphaT: c.alpha, AlphaS: c.alpha, Trial: c.writes[j]}), append(of, c)
		}
	}
	if len(of) == 0 {
		return nil
	}
	step, err := d.session.Denoise(ctx, d.trials)
	if err != nil {
		return err
	}
	for i := range step.Rows { // in the order of the trials; the host leaves out those whose logits it cannot use
		for of[0].slot != step.Rows[i].Slot {
			of = of[1:]
		}
		of[0].rest, of = append(of[0].rest, meanEntropy(&step.Rows[i])), of[1:]
	}
	return nil
}
