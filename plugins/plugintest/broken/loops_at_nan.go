package main

import (
	"time"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// loopsAtNan searches for the largest number until it finds it: among NaN it never does.
func loopsAtNan() {
	planner(func(r sdk.Row) sdk.Decision {
		for {
			for _, i := range r.Eligible().Indices() {
				if r.P1[i] >= 0 {
					return r.Open(r.Eligible())
				}
			}
			if r.Eligible().Len() == 0 {
				return r.Nothing()
			}
			time.Sleep(time.Millisecond)
		}
	})
}
