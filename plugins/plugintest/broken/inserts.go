package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// inserts grows rows whose model cannot.
func inserts() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible()).Insert(0, 1)
	})
}
