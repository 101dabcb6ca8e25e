package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// forgotNeed reads a statistic that it has not asked for.
func forgotNeed() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible().Where(func(i int) bool { return r.Entropy[i] < 1 || r.Step >= r.Steps-1 }))
	})
}
