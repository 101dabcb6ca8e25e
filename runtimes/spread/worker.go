package spread

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// worker is a member and the goroutine that works for it, so that passes need no new ones.
type worker struct {
	Member
	of   *Denoiser
	work chan func(*worker)
	done chan struct{}

	// Of the pass in progress.
	ctx   context.Context
	pass  *pass
	rows  []int // of the batch, dealt to this member
	stats *sampling.Statistics
	err   error
}

func start(d *Denoiser, m Member) *worker {
	w := &worker{Member: m, of: d, work: make(chan func(*worker)), done: make(chan struct{})}
	go func() {
		for do := range w.work {
			do(w)
			w.done <- struct{}{}
		}
	}()
	return w
}

// everywhere has the members that take part do something side by side, and returns the first error in their order.
func (d *Denoiser) everywhere(do func(*worker), takesPart func(*worker) bool) error {
	for _, w := range d.members {
		if w.err = nil; takesPart(w) {
			w.work <- do
		}
	}
	var first error
	for _, w := range d.members {
		if !takesPart(w) {
			continue
		}
		<-w.done
		if w.err != nil && first == nil {
			first = fmt.Errorf("%s: %w", w.Name, w.err)
		}
	}
	return first
}

// run runs the member's rows of the pass.
func (w *worker) run() {
	if w.err = w.feed(); w.err == nil {
		w.stats, w.err = w.Run(w.ctx)
	}
}

// feed fills the member's batch.
func (w *worker) feed() error {
	w.of.memory.RLock()
	defer w.of.memory.RUnlock()
	if w.of.closed.Load() {
		return errClosed
	}
	b, err := w.Batch(len(w.rows), w.pass.batch.L)
	if err == nil {
		w.pass.give(b, w)
	}
	return err
}
