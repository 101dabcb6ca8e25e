// Package sequential opens positions from left to right.
package sequential

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// New returns the planner "sequential" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("sequential", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().First(k)
	}, sdk.Version("1.1.0"), sdk.Summary("opens positions from left to right"))
}
