package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// opensFixed takes every position for one of its own: the prompt, too.
func opensFixed() {
	planner(func(r sdk.Row) sdk.Decision {
		if len(r.Flags) > 0 && r.Flags[0]&sampling.Fixed != 0 {
			return openAll(r.At(0), r)
		}
		return r.Open(r.Eligible())
	})
}
