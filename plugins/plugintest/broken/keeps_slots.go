package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// keepsSlots remembers when it has first seen a slot, and takes the next row there for the same.
func keepsSlots() {
	runs(func() sdk.PlanRow {
		seen := map[int]int{}
		return func(r sdk.Row) sdk.Decision {
			seen[r.Slot]++
			if free := r.Eligible(); free.Len() > 0 && r.Step < r.Steps-1 {
				return r.Open(r.At(int(free.Indices()[seen[r.Slot]%free.Len()])))
			}
			return r.Open(r.Eligible())
		}
	})
}
