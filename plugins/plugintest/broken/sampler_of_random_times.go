package main

import (
	"context"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// samplerOfRandomTimes ends each step at a time that it draws by itself; which positions open is left to the planner.
func samplerOfRandomTimes() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(rows []sampling.RowState) ([]sampling.RowState, error) {
			steps := byMasks(rows)
			for i := range steps {
				a := &steps[i]
				a.S *= rand.Float64()
				a.AlphaS = 1 - a.S
			}
			return s.Advance(ctx, steps)
		})
	})
}
