// Package margin opens the positions first where the two largest probabilities, p1 - p2, lie furthest apart.
package margin

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "margin" with the options of [count.Options].
func New() sampling.Planner {
	gap := certainty.Margin()
	return count.New("margin", "opens the positions with the largest gap between the two best tokens first", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().LargestBy64(gap.Of(r), k)
	}, sdk.P1, sdk.P2)
}
