// Package random opens positions in uniformly random order, whatever the model says: the order that the training of a
// masked diffusion model assumes.
package random

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "random" with the options of [count.Options].
func New() sampling.Planner {
	return sdk.NewRunPlanner("random", count.Planner(func(r sdk.Row, k int) sdk.Positions {
		return r.Eligible().SmallestBy64(r.Uniform, k)
	}), sdk.Needs(sdk.Uniform), sdk.Pure(), sdk.Version("1.0.0"), sdk.Summary("opens positions in uniformly random order"))
}
