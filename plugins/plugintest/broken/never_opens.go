package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// neverOpens waits for a confidence that never comes.
func neverOpens() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible().Where(func(i int) bool { return r.P1[i] > 1 }))
	})
}
