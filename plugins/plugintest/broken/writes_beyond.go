package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// writesBeyond has a vocabulary of its own, which is larger than that of the model.
func writesBeyond() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Nothing().OverwriteWith(r.Eligible(), func(int) int32 { return 50000 })
	})
}
