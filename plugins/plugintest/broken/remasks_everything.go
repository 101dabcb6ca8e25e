package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// remasksEverything revises all that it has written in every step, and so never gets on.
func remasksEverything() {
	runs(func() sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().LargestBy(r.P1, 2)).Remask(r.Written()) }
	}, sdk.Adaptive(), sdk.CanRemask())
}
