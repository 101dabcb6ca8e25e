package sdk

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Drive is the life of a session whose rows step together: it admits rows, has step take all that are on their way one step
// further, and emits those that are done, until no rows are left. step returns the rows as Advance or Apply left them.
func Drive(ctx context.Context, s sampling.Session, step func(active []sampling.RowState) ([]sampling.RowState, error)) error {
	var active []sampling.RowState
	var ended []int
	for {
		fresh, err := s.Admit(ctx)
		if err != nil {
			return err
		}
		if active = append(active, fresh...); len(active) == 0 {
			return nil
		}
		after, err := step(active)
		if err != nil {
			return err
		}
		active, ended = active[:0], ended[:0]
		for _, r := range after {
			if r.Done {
				ended = append(ended, r.Slot)
			} else {
				active = append(active, r)
			}
		}
		if len(ended) > 0 {
			if err := s.Emit(ctx, ended); err != nil {
				return err
			}
		}
	}
}

// ByMasks is the step of a row to the time at which one blank less is masked on average than now (alpha = 1 - t), for samplers
// whose steps follow what is masked instead of a grid of times.
func ByMasks(r sampling.RowState) sampling.Advance {
	at := func(masked int) float64 { return min(max(float64(masked)/float64(max(r.Blanks, 1)), 0), 1) }
	a := sampling.Advance{Slot: r.Slot, T: at(r.Masked), S: at(r.Masked - 1)}
	a.AlphaT, a.AlphaS = 1-a.T, 1-a.S
	return a
}
