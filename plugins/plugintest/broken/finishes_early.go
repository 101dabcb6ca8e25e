package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// finishesEarly is content after three steps, whatever is still masked.
func finishesEarly() {
	runs(func() sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			d := r.Open(r.Eligible().LargestBy(r.P1, 1))
			if r.Step >= 2 {
				return d.Done()
			}
			return d
		}
	}, sdk.Adaptive())
}
