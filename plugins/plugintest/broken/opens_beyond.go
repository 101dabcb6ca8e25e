package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// opensBeyond counts positions from the end of the row and is off by one.
func opensBeyond() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible()).Open(r.At(len(r.Token)))
	})
}
