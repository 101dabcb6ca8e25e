package supervise

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errSilent = errors.New("silent")

// watch notices a sampler that asks for nothing: its clock runs while no request is being served.
type watch struct {
	patience time.Duration
	mu       sync.Mutex
	busy     int
	timer    *time.Timer
}

func newWatch(patience time.Duration) *watch { return &watch{patience: patience} }

// context ends with the cause errSilent when the sampler is silent for too long.
func (w *watch) context(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.timer = time.AfterFunc(w.patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy == 0 {
			cancel(errSilent)
		}
	})
	w.mu.Unlock()
	return bounded, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer.Stop()
		cancel(nil)
	}
}

// enter stops the clock while the host works; the function returned starts it anew.
func (w *watch) enter() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy++
	if w.timer != nil {
		w.timer.Stop()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy--; w.busy == 0 && w.timer != nil {
			w.timer.Reset(w.patience)
		}
	}
}
