package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// asksWithoutEnd does not notice that there is nothing left.
func asksWithoutEnd() {
	sampler(func(ctx context.Context, s sampling.Session) error {
		for {
			rows, err := s.Admit(ctx)
			for err == nil && len(rows) > 0 {
				rows, err = advance(ctx, s, rows)
			}
			if err != nil {
				return err
			}
		}
	})
}
