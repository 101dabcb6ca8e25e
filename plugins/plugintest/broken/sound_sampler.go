package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// soundSampler is in order.
func soundSampler() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(rows []sampling.RowState) ([]sampling.RowState, error) { return s.Advance(ctx, byMasks(rows)) })
	})
}
