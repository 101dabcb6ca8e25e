// Package confidence opens the positions with the largest top probability p1 first. p1 is of the model's distribution,
// before temperature, and not the probability of the drawn token: the two agree at temperature 0 only.
package confidence

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "confidence" with the options of [count.Options].
func New() sampling.Planner {
	return sdk.NewRunPlanner("confidence", count.Planner(func(r sdk.Row, k int) sdk.Positions {
		return r.Eligible().LargestBy(r.P1, k)
	}), sdk.Needs(sdk.P1), sdk.Pure(), sdk.Version("1.0.0"), sdk.Summary("opens the positions with the largest top probability first"))
}
