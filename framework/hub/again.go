package hub

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// fatal is an error that another try does not change.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// busy is the error of a server that may answer later.
type busy struct {
	error
	after time.Duration // that it asks for; 0: none
}

func (b *busy) Unwrap() error { return b.error }

// Waits between tries: the first, twice that after it, and so on, each somewhere between half and the whole of it.
var (
	firstWait = 500 * time.Millisecond
	longest   = 60 * time.Second // what a server may ask for, too
)

// again tries until it works, the error is fatal, or retries in a row failed. What had a part of the work done counts anew.
func again(ctx context.Context, retries int, try func() (progress bool, err error)) error {
	for failed := 0; ; {
		progress, err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress {
			failed = 0
		}
		if errors.As(err, new(fatal)) || failed >= retries {
			return err
		}
		wait := min(firstWait<<min(failed, 20), longest)
		wait = wait/2 + rand.N(wait/2+1)
		var b *busy
		if errors.As(err, &b) {
			wait = max(wait, min(b.after, longest))
		}
		failed++
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
