// Package entropy opens the positions with the smallest entropy first.
package entropy

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// New returns the planner "entropy" with the options of [count.Options].
func New() sampling.Planner {
	return count.New("entropy", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().SmallestBy(r.Entropy, k)
	}, sdk.Needs(sdk.Entropy), sdk.Version("1.1.0"), sdk.Summary("opens the positions with the smallest entropy first"))
}
