package main

import (
	"context"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// samplerWithAClock draws its times from a generator that starts by itself.
func samplerWithAClock() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(rows []sampling.RowState) ([]sampling.RowState, error) {
			step, err := s.Denoise(ctx, byMasks(rows))
			if err != nil {
				return nil, err
			}
			return s.Apply(ctx, some(step, func(int64, int) bool { return rand.IntN(3) == 0 }))
		})
	}, sdk.Needs(sdk.Proposal))
}
