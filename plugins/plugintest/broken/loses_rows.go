package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// losesRows returns when the first rows are done.
func losesRows() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		rows, err := s.Admit(ctx)
		for err == nil && len(rows) > 0 && !rows[0].Done {
			rows, err = s.Advance(ctx, byMasks(rows))
		}
		if err == nil && len(rows) > 0 {
			err = s.Emit(ctx, []int{rows[0].Slot})
		}
		return err
	})
}
