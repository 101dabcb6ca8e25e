package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// fewRows has room for 32 rows.
func fewRows() {
	planner(func(r sdk.Row) sdk.Decision {
		seats := make([]int, 32)
		seats[r.Slot]++
		return r.Open(r.Eligible())
	})
}
