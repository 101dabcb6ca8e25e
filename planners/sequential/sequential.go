// Package sequential opens positions from left to right.
package sequential

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "sequential" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("sequential", "opens positions from left to right", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().First(k)
	})
}
