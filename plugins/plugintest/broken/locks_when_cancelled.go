package main

import (
	"context"
	"sync"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// locksWhenCancelled holds its lock when a call is cancelled.
func locksWhenCancelled() {
	var mu sync.Mutex
	sdk.Serve(&byHand{plan: func(step *sampling.Step, out []sampling.Decision) error { return openEvery(step, out) },
		inside: func(ctx context.Context, rows int) error {
			mu.Lock()
			if rows == 64 { // there is much to do
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(20 * time.Millisecond):
				}
			}
			mu.Unlock()
			return nil
		}})
}
