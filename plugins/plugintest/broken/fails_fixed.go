package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// failsFixed divides by the number of free positions.
func failsFixed() {
	planner(func(r sdk.Row) sdk.Decision {
		free := r.Eligible().Len()
		return r.Open(r.Eligible()).Metric("share", float64(len(r.Token)/free))
	})
}
