// Package margin opens the positions first where the two largest probabilities, p1 - p2, lie furthest apart.
package margin

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// New returns the planner "margin" with the options of [count.Options].
func New() sampling.Planner {
	gap := certainty.Margin()
	return count.New("margin", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().LargestBy64(gap.Of(r), k)
	}, sdk.Needs(sdk.P1, sdk.P2), sdk.Version("1.1.0"), sdk.Summary("opens the positions with the largest gap between the two best tokens first"))
}
