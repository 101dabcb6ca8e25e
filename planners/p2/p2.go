// Package p2 plans paths (P2, Peng et al. 2025): every step ranks the written positions together with the masked ones,
// keeps the best and masks the rest, so that tokens written early can be revised. How many stay masked follows a
// schedule. By default it is the self planner: the denoiser scores its own proposals and, at written positions, the token
// that stands there, both by clean log-probabilities. Ancestral and greedy decoding, MaskGIT, DFM and RDM are options of
// the same step (P2, Table 1); the presets p2-* hold them.
package p2

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "p2". More steps than blanks are legal: they revise. It is pure but for the condition "cond",
// which remembers the log-probabilities of written tokens: a fresh process refuses rows that are on their way under it.
func New() sampling.Planner {
	return sdk.NewRunPlanner("p2", build,
		sdk.Needs(sdk.Proposal, sdk.LogpProposal, sdk.LogpCurrent, sdk.P1, sdk.P2, sdk.Entropy, sdk.Uniform, sdk.Gumbel, sdk.PlannerScore),
		sdk.NeedsFor(needs), sdk.CanRemask(), sdk.Pure(),
		sdk.Version("1.1.0"), sdk.Summary("ranks masked and written positions together and masks the worst again"))
}

func build(o Options, run sampling.Run) (sdk.PlanRow, error) {
	if err := o.check(run); err != nil {
		return nil, err
	}
	kappa, err := scheduleOf(o.Kappa)
	if err != nil {
		return nil, err
	}
	score, err := scoresOf(o)
	if err != nil {
		return nil, err
	}
	p := &planner{Options: o, schedule: kappa, scores: score}
	if o.Condition == "cond" {
		p.records = &sdk.RowMemory[record]{}
	}
	return p.plan, nil
}

type planner struct {
	Options
	schedule
	scores
	cut
	records *sdk.RowMemory[record] // nil but for the condition "cond"
}

func (p *planner) plan(r sdk.Row) sdk.Decision {
	masked, eligible, written := r.Masked(), r.Eligible(), r.Written()
	step, k := r.Step, p.left(r.Blanks, r.Step+1, r.Steps)
	// Where no written position can be masked again, a step that opens nothing changes nothing: act as the next that does.
	keeps := p.gU == nil
	for (keeps || written.Len() == 0) && k >= masked.Len() && step < r.Steps-1 {
		step++
		k = p.left(r.Blanks, step+1, r.Steps)
	}
	p.reset(len(r.Flags))
	noise := p.PlannerTemperature * p.anneal(p.PlannerAnneal, step+1, r.Steps)
	for _, i := range eligible.Indices() {
		p.add(i, p.perturb(r, i, p.fresh(r, i), noise))
	}
	// Masked positions that may not open now are masked after the step as well, and count among the k.
	k -= masked.Len() - eligible.Len()
	if keeps {
		k = min(k, eligible.Len())
	} else {
		for _, i := range written.Indices() {
			p.add(i, p.perturb(r, i, p.written(r, i), noise))
		}
	}
	if err := p.mask(k); err != nil {
		return r.Fail(err)
	}
	open, again := eligible.Where(p.stays), written.Where(p.falls)
	if p.records != nil {
		rec := p.records.Of(r)
		if err := rec.begin(r); err != nil {
			return r.Fail(err)
		}
		again = again.Where(func(i int) bool { return rec.falls(r, i) })
		rec.note(r, open)
	}
	d := r.Open(open).Remask(again)
	if step != r.Step {
		d = d.ActAs(step)
	}
	return d
}

// perturb adds Gumbel noise to a score, so that the best k are a draw without replacement (section 3.6 of the sheet).
func (p *planner) perturb(r sdk.Row, i int32, score, noise float64) float64 {
	if p.PlannerTemperature > 0 {
		score += float64(r.Gumbel[i] * noise)
	}
	return score
}
