package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// namelessMetric reports metrics under names that nobody can read.
func namelessMetric() {
	planner(func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible()).Metric("", 1).Metric("a b\n", 2) })
}
