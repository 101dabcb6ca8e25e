package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// samplerOfBatches opens more in each row when there are few rows.
func samplerOfBatches() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(rows []sampling.RowState) ([]sampling.RowState, error) {
			step, err := s.Denoise(ctx, byMasks(rows))
			if err != nil {
				return nil, err
			}
			return s.Apply(ctx, some(step, func(_ int64, i int) bool { return i%2 == 0 || len(step.Rows) < 2 }))
		})
	}, sdk.Needs(sdk.Proposal))
}
