package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// opensTwice adds the most probable position to a list that has it already.
func opensTwice() {
	planner(func(r sdk.Row) sdk.Decision {
		e := r.Eligible()
		return r.Open(e).Open(e.First(1))
	})
}
