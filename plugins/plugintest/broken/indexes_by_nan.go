package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// indexesByNan takes a statistic for an index without looking at it.
func indexesByNan() {
	planner(func(r sdk.Row) sdk.Decision {
		bins := make([]int, 11)
		for _, i := range r.Eligible().Indices() {
			bins[int(r.P1[i]*10)]++
		}
		return r.Open(r.Eligible())
	})
}
