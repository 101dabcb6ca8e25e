// Package margin opens the positions first where the two largest probabilities, p1 - p2, lie furthest apart.
package margin

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "margin" with the options of [count.Options].
func New() sampling.Planner {
	var gap []float64 // [n] reused from row to row
	return sdk.NewRunPlanner("margin", count.Planner(func(r sdk.Row, k int) sdk.Positions {
		gap = gap[:0]
		for i := range r.P1 {
			gap = append(gap, float64(r.P1[i])-float64(r.P2[i]))
		}
		return r.Eligible().LargestBy64(gap, k)
	}), sdk.Needs(sdk.P1, sdk.P2), sdk.Pure(), sdk.Version("1.0.0"),
		sdk.Summary("opens the positions with the largest gap between the two best tokens first"))
}
