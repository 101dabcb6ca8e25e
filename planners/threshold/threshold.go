// Package threshold opens every position of which the model is sure enough (Fast-dLLM, Wu et al. 2025; LLaDA2's
// low_confidence_dynamic), and the surest where there are too few of them.
package threshold

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "threshold".
type Options struct {
	Threshold   float64 `option:"threshold" default:"0.9" min:"0" help:"confidence from which positions open; 0.95 in LLaDA2 and SGLang, 0.85 in SDAR; 0 opens everything at once"`
	Strict      bool    `option:"strict" default:"false" help:"the confidence must exceed the threshold (SGLang, LLaDA2); else it may equal it (Fast-dLLM)"`
	MinimalTopK int     `option:"minimal_topk" default:"1" min:"1" help:"where fewer positions are sure, so many of the surest open; more than 1 is known to repeat tokens"`
	Fallback    string  `option:"fallback" default:"minimal_topk" enum:"minimal_topk,scheduled" help:"where fewer positions are sure: the minimal_topk surest, or as many as LLaDA's schedule opens in this step if those are more (LLaDA2's num_to_transfer)"`
	MaxPerStep  int     `option:"max_per_step" default:"0" min:"0" help:"positions opened a step at most, the surest; 0 = no limit"`
	certainty.Largest
	certainty.Distribution
}

// New returns the planner "threshold". Its steps are only a cap, unless the fallback is scheduled.
func New() sampling.Planner {
	return sdk.NewRunPlanner("threshold", build, sdk.Needs(sdk.P1, sdk.LogpProposal), sdk.NeedsFor(needs), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens every position whose confidence reaches a threshold (Fast-dLLM)"))
}

func needs(o Options) sampling.Needs { return certainty.NeedsOf(o.Confidence, o.On) }

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	if o.MaxPerStep > 0 && o.MaxPerStep < o.MinimalTopK {
		return nil, fmt.Errorf("max_per_step %d: expected at least minimal_topk %d; raise it, or set 0 for no limit", o.MaxPerStep, o.MinimalTopK)
	}
	return func(r sdk.Row) sdk.Decision {
		score, eligible, least := c.Of(r), r.Eligible(), o.MinimalTopK
		if o.Fallback == "scheduled" {
			least = max(least, count.LLaDA(r.Blanks, r.Step, r.Steps))
		}
		open := eligible.Where(func(i int) bool { return score[i] > o.Threshold || score[i] == o.Threshold && !o.Strict })
		if open.Len() < least {
			open = eligible.LargestBy64(score, least)
		}
		if o.MaxPerStep > 0 && open.Len() > o.MaxPerStep {
			open = open.LargestBy64(score, o.MaxPerStep)
		}
		return r.Open(open)
	}, nil
}
