package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// mapOrder walks a map, whose order is another each time.
func mapOrder() {
	planner(func(r sdk.Row) sdk.Decision {
		at := map[int32]bool{}
		for _, i := range r.Eligible().Indices() {
			at[i] = true
		}
		for i := range at {
			return openSome(r, func(j int) bool { return j <= int(i) })
		}
		return r.Nothing()
	})
}
