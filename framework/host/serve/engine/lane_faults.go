package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// tries is how many runs may fail under a row before it ends with the error of the last.
const tries = 2

// errNotRun is the error of a row that the sampler left.
var errNotRun = errors.New("the sampler returned before it took the row; report it to its author")

// openError is a machine that could not be opened again.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

// backOff waits before the machine is opened again: longer after each failure in a row.
func (l *lane) backOff(ctx context.Context) error {
	if l.failures < 2 {
		return ctx.Err()
	}
	select {
	case <-time.After(l.pause << min(l.failures-2, 6)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recover closes a machine that failed and gives its rows one more chance, after which they end with the error.
func (l *lane) recover(ctx context.Context, err error) {
	if l.machine != nil {
		_ = l.machine.Close() // it failed already
		l.machine = nil
	}
	l.slots = nil
	if ctx.Err() != nil {
		return
	}
	l.failures++
	l.log.Warn("a lane failed and is opened again", "lane", l.String(), "failures", l.failures, "error", err)
	if opening := (*openError)(nil); errors.As(err, &opening) {
		if l.failures > tries {
			l.abandon(fmt.Errorf("%w; it could not be opened again %d times in a row", opening.error, l.failures))
		}
		return
	}
	l.retry(err)
}

// retry lets the rows in flight wait for another run, or ends those that had enough of them.
func (l *lane) retry(err error) {
	var again, lost []ref
	l.mu.Lock()
	for _, r := range l.land() {
		if r.get().tries++; r.get().tries < tries && r.answer.ctx.Err() == nil {
			again = append(again, r)
		} else {
			lost = append(lost, r)
		}
	}
	l.queue.again(again)
	l.mu.Unlock()
	for _, r := range lost {
		l.lose(r, err)
	}
}

// aloft counts rows that run.
func (l *lane) aloft(more int) {
	l.running(more)
	l.tally.running(more)
}

// land takes all rows out of flight, in the order in which they were given out. l.mu is held.
func (l *lane) land() []ref {
	out := make([]ref, 0, len(l.flying))
	for _, i := range slices.Sorted(maps.Keys(l.flying)) {
		out = append(out, l.flying[i])
	}
	clear(l.flying)
	l.aloft(-len(out))
	return out
}

// abandon ends all rows of the lane with an error.
func (l *lane) abandon(err error) {
	l.mu.Lock()
	lost := append(l.land(), l.queue.clear()...)
	l.mu.Unlock()
	for _, r := range lost {
		l.lose(r, err)
	}
}

// lose ends a row that has no result.
func (l *lane) lose(r ref, err error) {
	if how, first := r.answer.fail(r.row, err); first {
		l.ends(r, how, 0)
	}
}

// ends counts the end of a row, in which so many positions were opened, unless nobody asked for it.
func (l *lane) ends(r ref, how sampling.Finish, opened int) {
	if !r.answer.proof {
		l.tally.ended(how, opened)
	}
}
