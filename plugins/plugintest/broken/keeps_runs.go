package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// keepsRuns goes on counting in its second run where the first has ended.
func keepsRuns() {
	run := 0
	runs(func() sdk.PlanRow {
		run++
		return func(r sdk.Row) sdk.Decision {
			return openSome(r, func(i int) bool { return i%2 == run%2 })
		}
	})
}
