package main

import (
	"time"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// slowInLongRows compares all pairs of positions with each other.
func slowInLongRows() {
	planner(func(r sdk.Row) sdk.Decision {
		pairs := time.Duration(len(r.Token) * len(r.Token))
		time.Sleep(pairs * pairs / 28000)
		return r.Open(r.Eligible())
	})
}
