// Package maskgit is MaskGIT's sampler (Chang et al. 2022, section 3.2): few positions at first, by the log-probability of
// the drawn token plus Gumbel noise that fades with progress.
package maskgit

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "maskgit".
type Options struct {
	ChoiceTemperature float64 `option:"choice_temperature" default:"4.5" min:"0" help:"noise of the order: choice_temperature (1 - r) Gumbel is added to the log-probabilities, r = progress after the step; 0 = none"`
	Schedule          string  `option:"schedule" default:"cosine" enum:"cosine,linear,pow2,pow3,pow0.5,log,exp" help:"fraction that stays masked: cosine, linear (MaskGIT's uniform), pow2 (square), pow3 (cubic), pow0.5 (square root), log, exp"`
}

// New returns the planner "maskgit". MaskGIT itself takes 8 to 12 steps (--steps) and the temperature 1.
func New() sampling.Planner {
	return sdk.NewRunPlanner("maskgit", build, sdk.Needs(sdk.LogpProposal, sdk.Gumbel), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens few positions at first, by log-probability with fading noise (MaskGIT)"))
}

func needs(o Options) sampling.Needs {
	return sampling.Needs{LogpProposal: sampling.OnModel, Gumbel: o.ChoiceTemperature > 0}
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	stay, ok := count.NamedRatio(o.Schedule)
	if !ok {
		return nil, fmt.Errorf("schedule %q: expected one of MaskGIT's; `mdmhost plugin info maskgit` lists them", o.Schedule)
	}
	var score []float64 // [n] reused from row to row
	return stay.Rule(func(r sdk.Row, k, step int) sdk.Positions {
		noise := o.ChoiceTemperature * (1 - float64(step+1)/float64(r.Steps))
		score = score[:0]
		for i, x := range r.LogpProposal {
			s := float64(x)
			if o.ChoiceTemperature > 0 {
				s += float64(noise * r.Gumbel[i])
			}
			score = append(score, s)
		}
		return r.Eligible().LargestBy64(score, k)
	}), nil
}
