// Package entropy opens the positions with the smallest entropy first.
package entropy

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// New returns the planner "entropy" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("entropy", "opens the positions with the smallest entropy first", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().SmallestBy(r.Entropy, k)
	}, sdk.Entropy)
}
