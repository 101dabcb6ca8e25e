package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// saysPure says that it is pure and remembers what it opened.
func saysPure() {
	runs(func() sdk.PlanRow {
		calls := map[int64]int{}
		return func(r sdk.Row) sdk.Decision {
			calls[r.Index]++
			return openSome(r, func(i int) bool { return i%3 == calls[r.Index]%3 })
		}
	}, sdk.Pure())
}
