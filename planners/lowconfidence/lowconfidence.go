// Package lowconfidence is LLaDA's "low confidence remasking" (Nie et al. 2025, algorithm 5): every step opens the
// positions whose drawn token has the largest probability, as many as LLaDA's transfer schedule says. What is not opened
// stays masked; nothing that is written is masked again, whatever the name says.
package lowconfidence

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "low_confidence".
type Options struct {
	certainty.Drawn
	certainty.Distribution
	count.PerStep
	Schedule string `option:"schedule" default:"uniform" enum:"auto,k,uniform,linear,dream,alpha,arccos,cosine,pow2,pow3,pow0.5,log,exp,stochastic_transfer" help:"how many positions each step opens; uniform is LLaDA's: blanks/steps, one more in the first steps, any number of steps"`
}

// New returns the planner "low_confidence".
func New() sampling.Planner {
	return sdk.NewRunPlanner("low_confidence", build, sdk.Needs(sdk.LogpProposal, sdk.P1, sdk.Uniform), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens the positions whose drawn token is the most probable first (LLaDA)"))
}

func needs(o Options) sampling.Needs {
	return count.Needs(o.Schedule, certainty.NeedsOf(o.Confidence, o.On))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions { return r.Eligible().LargestBy64(c.Of(r), k) })
}
