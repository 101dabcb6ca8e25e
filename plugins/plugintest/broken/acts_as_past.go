package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// actsAsPast says that it acted as the last step of a row that has one less.
func actsAsPast() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible()).ActAs(r.Steps)
	})
}
