// Package p2 plans paths (P2, Peng et al. 2025): every step ranks the written positions together with the masked ones,
// keeps the best and masks the rest, so that tokens written early can be revised. How many stay masked follows a
// schedule. This is the self planner: the denoiser scores its own proposals and, at written positions, the token that
// stands there, both by clean log-probabilities.
package p2

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "p2".
type Options struct {
	Kappa   string  `option:"kappa" default:"linear" enum:"linear,cosine,sine,half_cosine,quad,sqrt,geometric,log" help:"fraction unmasked as a function of progress"`
	Eta     float64 `option:"eta" default:"1" min:"0" help:"stochasticity strength: larger masks more written tokens again, 0 none"`
	EtaMode string  `option:"eta_mode" default:"code" enum:"code,paper" help:"code: the probability of written tokens to the power eta; paper: the probability of proposals times eta"`
}

// New returns the planner "p2". More steps than blanks are legal: they revise.
func New() sampling.Planner {
	return sdk.NewRunPlanner("p2", build, sdk.Needs(sdk.LogpProposal, sdk.LogpCurrent), sdk.CanRemask(), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("ranks masked and written positions together and masks the worst again"))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	left, err := schedule(o.Kappa)
	if err != nil {
		return nil, err
	}
	score, err := mode(o.EtaMode, o.Eta)
	if err != nil {
		return nil, err
	}
	var c cut
	return func(r sdk.Row) sdk.Decision {
		masked, eligible, written := r.Masked(), r.Eligible(), r.Written()
		step, k := r.Step, left(r.Blanks, r.Step+1, r.Steps)
		// Where no written position can be masked again, a step that opens nothing changes nothing: act as the next that
		// does.
		for keeps := written.Len() == 0 || o.Eta == 0; keeps && k >= masked.Len() && step < r.Steps-1; {
			step++
			k = left(r.Blanks, step+1, r.Steps)
		}
		c.reset(len(r.Flags))
		for _, i := range eligible.Indices() {
			c.add(i, score.fresh(r.LogpProposal[i]))
		}
		for _, i := range written.Indices() {
			c.add(i, score.written(r.LogpCurrent[i]))
		}
		// Masked positions that may not open now are masked after the step as well, and count among the k.
		k -= masked.Len() - eligible.Len()
		if o.Eta == 0 {
			k = min(k, eligible.Len())
		}
		if err := c.mask(k); err != nil {
			return r.Fail(err)
		}
		d := r.Open(eligible.Where(c.stays)).Remask(written.Where(c.falls))
		if step != r.Step {
			d = d.ActAs(step)
		}
		return d
	}, nil
}
