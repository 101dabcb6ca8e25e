package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// nanMetric reports the mean of nothing where nothing is written.
func nanMetric() {
	planner(func(r sdk.Row) sdk.Decision {
		written := float64(r.Written().Len())
		return r.Open(r.Eligible()).Metric("mean", 0*written/(written*0))
	})
}
