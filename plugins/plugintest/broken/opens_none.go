package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// opensNone takes the -1 of an empty search for a position.
func opensNone() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible()).Open(r.At(-1))
	})
}
