package main

import (
	"math/rand/v2"
	"time"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// clockSeed seeds its own generator with the clock.
func clockSeed() {
	planner(func(r sdk.Row) sdk.Decision {
		rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		return openSome(r, func(int) bool { return rng.IntN(2) == 0 })
	})
}
