// Package confidence opens the positions with the largest top probability p1 first. p1 is of the model's distribution,
// before temperature, and not the probability of the drawn token: the two agree at temperature 0 only. The planner
// "low_confidence" orders by the drawn token.
package confidence

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// New returns the planner "confidence" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("confidence", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().LargestBy(r.P1, k)
	}, sdk.Needs(sdk.P1), sdk.Version("1.1.0"), sdk.Summary("opens the positions with the largest top probability first"))
}
