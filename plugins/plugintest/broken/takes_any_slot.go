package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// takesAnySlot counts slots by itself.
func takesAnySlot() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		if _, err := s.Admit(ctx); err != nil {
			return err
		}
		_, err := s.Advance(ctx, []sampling.Advance{{Slot: 63, T: 1, S: 0.5}})
		return err
	})
}
