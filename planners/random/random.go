// Package random opens positions in uniformly random order, whatever the model says: the order that the training of a
// masked diffusion model assumes. With the schedule stochastic_transfer it is the ancestral sampler.
package random

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// New returns the planner "random" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("random", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().SmallestBy64(r.Uniform, k)
	}, sdk.Needs(sdk.Uniform), sdk.Version("1.1.0"), sdk.Summary("opens positions in uniformly random order"))
}
