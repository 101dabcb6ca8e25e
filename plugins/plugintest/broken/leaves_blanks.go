package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// leavesBlanks rounds down what a step opens, so that some are left after the last.
func leavesBlanks() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible().LargestBy(r.P1, max(1, (r.Blanks-1)/r.Steps)))
	})
}
