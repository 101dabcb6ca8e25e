package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// patience is how many batches of rows may pass one whose turn it is but that does not fit beside those that run.
const patience = 4

// handed is how many rows the machine was given.
func (l *lane) handed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// push lets an answer's rows wait for their turn; false where the lane takes no more. They end when the answer's context does.
func (l *lane) push(a *Answer) bool {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return false
	}
	l.queue.push(a)
	l.idle = time.Time{}
	l.mu.Unlock()
	l.rouse()
	context.AfterFunc(a.ctx, func() {
		l.mu.Lock()
		left := l.queue.drop(a)
		l.mu.Unlock()
		for _, r := range left {
			l.lose(r, a.cause())
		}
		if !a.over() {
			time.AfterFunc(grace, func() { l.giveUp(a) })
		}
	})
	return true
}

// grace is how long rows whose time is over may take to end with what they have, at their next forward pass. Then they are not waited
// for: a plugin, or a server elsewhere, may hang for as long as its own bounds let it.
const grace = time.Second

// giveUp ends what is left of an answer, in flight as it is.
func (l *lane) giveUp(a *Answer) {
	for i := range a.rows {
		l.lose(ref{a, i}, a.cause())
	}
}

// rouse wakes a worker that waits.
func (l *lane) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// wait returns when rows wait, or when the lane was told to close.
func (l *lane) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		done := l.queue.size > 0 || l.closing
		idle := !done && l.idle.IsZero()
		if idle {
			l.idle = time.Now()
		}
		l.mu.Unlock()
		if done {
			return ctx.Err()
		}
		if idle {
			l.freed()
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// busy tells whether rows wait.
func (l *lane) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.size > 0
}

// next gives the machine the next row that may stand beside those that it has.
func (l *lane) next() (sampling.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flying) == 0 {
		l.passed = 0
	} else if l.batching && l.passed >= patience*l.machine.MostRows() {
		return sampling.Request{}, false
	}
	r, skipped, ok := l.queue.pop(l.fits)
	if !ok {
		return sampling.Request{}, false
	}
	if skipped {
		l.passed++
	}
	request := r.get().request
	if len(l.flying) == 0 {
		l.only, l.alone, l.width = r.answer, r.get().tries > 0, l.widthOf(r)
	}
	request.Index = l.count
	l.count++
	l.flying[request.Index] = r
	l.aloft(1)
	return request, true
}

// fits tells whether a row may stand beside those in flight.
func (l *lane) fits(r ref) bool {
	tried := r.get().tries > 0
	switch {
	case len(l.flying) == 0:
		return true
	case tried != l.alone, (l.alone || !l.batching) && r.answer != l.only:
		return false
	}
	return l.machine.Padding() || l.widthOf(r) == l.width
}

// widthOf is the length at which the model sees a row.
func (l *lane) widthOf(r ref) int {
	return max(len(r.get().request.Tokens), l.cfg.Sampling.PadTo)
}

// sink ends a row with its result.
func (l *lane) sink(result sampling.Result) error {
	l.mu.Lock()
	r, ok := l.flying[result.Index]
	delete(l.flying, result.Index)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("lane %s: row %d ended twice; report it", l, result.Index)
	}
	l.failures = 0
	if result.Finish == sampling.FinishCancelled {
		result.Err = r.answer.cause()
	}
	text := strings.TrimSuffix(l.model.Tokenizer.Decode(result.Tokens, true), result.Beyond)
	end := results.NewRow(result, 0, text).WithDetails(result, nil)
	if l.cfg.Sampling.CompletesStopped() {
		end.NFEUntil = &result.Until
	}
	first := r.answer.finish(r.row, end, result.Err)
	l.aloft(-1)
	if first {
		l.ends(r, result.Finish, result.Opened)
	}
	return nil
}
