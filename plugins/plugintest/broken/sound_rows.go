package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// soundRows is in order, reads statistics and is pure.
func soundRows() {
	runs(func() sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().LargestBy(r.P1, 1+r.Blanks/r.Steps)) }
	}, sdk.Pure())
}
