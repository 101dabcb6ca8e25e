package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// writesMask picks tokens of its own and does not leave out the mask.
func writesMask() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Nothing().OverwriteWith(r.Eligible(), func(i int) int32 { return int32((i + r.Step) % 12) })
	})
}
