// Package sequential opens positions from left to right.
package sequential

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "sequential" with the options of [count.Options].
func New() sampling.Planner {
	return sdk.NewRunPlanner("sequential", count.Planner(func(r sdk.Row, k int) sdk.Positions {
		return r.Eligible().First(k)
	}), sdk.Pure(), sdk.Version("1.0.0"), sdk.Summary("opens positions from left to right"))
}
