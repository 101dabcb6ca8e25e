package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Answer is a question on its way: its rows wait, run and end, each with exactly one event that says how. One goroutine reads it.
type Answer struct {
	seed   uint64
	model  *model.Model
	notes  []string
	steps  bool
	ctx    context.Context // of its rows
	cancel context.CancelCauseFunc
	ended  func() // called once for each row's end
	proof  bool   // that a lane works: nobody asked

	waiting []int // rows that wait for their lane, in order; the lane's

	mu     sync.Mutex
	rows   []row
	unread []int // rows with news, in the order in which it came
	left   int   // rows whose end is not read yet
	going  int   // rows that have not ended
	news   chan struct{}
}

// row is one row of an answer.
type row struct {
	request sampling.Request
	tries   int // runs that failed under it; the lane's

	next   int   // steps before this one are told; the reader has no use for them again
	step   *Step // not read yet, or nil
	done   *results.Row
	err    error // of a row that failed
	listed bool  // in unread
}

// errLeft is the cause of the end of rows whose client is gone.
var errLeft = errors.New("the client has left")

// newAnswer is an answer whose rows wait. ctx and the time that it may take end its rows, 0 is no bound. ended is called for each row's end.
func newAnswer(ctx context.Context, timeout time.Duration, m *model.Model, seed uint64, requests []sampling.Request, steps bool, ended func()) *Answer {
	a := &Answer{seed: seed, model: m, steps: steps, ended: ended, rows: make([]row, len(requests)), left: len(requests), going: len(requests), news: make(chan struct{}, 1)}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	if timeout > 0 {
		timed, stop := context.WithTimeoutCause(a.ctx, timeout, fmt.Errorf("the request took longer than serve.timeout, %v; ask for fewer rows or steps, or raise it", timeout))
		cancel := a.cancel
		a.ctx, a.cancel = timed, func(cause error) {
			cancel(cause)
			stop()
		}
	}
	for i, r := range requests {
		r.Context, r.Noise = a.ctx, &sampling.NoiseKey{Seed: seed, Row: r.Index}
		a.rows[i].request = r
		a.waiting = append(a.waiting, i)
	}
	return a
}

// Rows is how many rows the answer has.
func (a *Answer) Rows() int { return len(a.rows) }

// Seed is the seed of the rows, drawn where the question had none.
func (a *Answer) Seed() uint64 { return a.seed }

// Notes are what the client may not have meant, such as text that the vocabulary lacks.
func (a *Answer) Notes() []string { return a.notes }

// Model is the model that answers: its tokenizer reads the tokens of steps.
func (a *Answer) Model() *model.Model { return a.model }

// Prompt is a row as it began: tokens [L], the mask id where blank, and which of them were given, special tokens included [L]. The
// slices must not be changed.
func (a *Answer) Prompt(row int) (tokens []int32, given []bool) {
	r := &a.rows[row].request
	return r.Tokens, r.Fixed
}

// Next returns the next event, in the order in which they come; of the steps of a row that were not read, the latest alone. After the
// end of the last row it is io.EOF, and when ctx ends its error, which loses nothing.
func (a *Answer) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, err := a.take(); ok || err != nil {
			return e, err
		}
		select {
		case <-a.news:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

func (a *Answer) take() (e Event, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.unread) == 0 {
		if a.left == 0 {
			return Event{}, false, io.EOF
		}
		return Event{}, false, nil
	}
	i := a.unread[0]
	r := &a.rows[i]
	if r.step != nil {
		e = Event{Row: i, Step: r.step}
		if r.step = nil; r.done != nil {
			return e, true, nil // its end comes next
		}
	} else {
		e, a.left = Event{Row: i, Done: r.done, Err: r.err}, a.left-1
	}
	a.unread, r.listed = slices.Delete(a.unread, 0, 1), false
	return e, true, nil
}

// tell lists a row with news. a.mu is held.
func (a *Answer) tell(i int) {
	if r := &a.rows[i]; !r.listed {
		r.listed = true
		a.unread = append(a.unread, i)
	}
	select {
	case a.news <- struct{}{}:
	default: // the reader knows
	}
}

// stepped takes what a step made of a row. It never waits for the reader.
func (a *Answer) stepped(i int, f *sampling.Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &a.rows[i]
	if r.done != nil || f.Step < r.next { // of a run that failed, whose steps are made again
		return
	}
	r.next = f.Step + 1
	if r.step == nil {
		r.step = &Step{}
	}
	r.step.take(f)
	a.tell(i)
}

// finish ends a row, with the error of one that failed. Only the first end counts; finish tells whether this was it.
func (a *Answer) finish(i int, end results.Row, err error) bool {
	a.mu.Lock()
	r := &a.rows[i]
	if r.done != nil {
		a.mu.Unlock()
		return false
	}
	end.Index, end.Seed = int64(i), a.seed
	r.done, r.err = &end, err
	a.going--
	last := a.going == 0
	a.tell(i)
	a.mu.Unlock()
	if a.ended(); last {
		a.cancel(nil) // stops the clock
	}
	return true
}

// over tells whether all rows have ended.
func (a *Answer) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.going == 0
}

// fail ends a row that has no tokens to show but those it began with: as cancelled when the answer's own context has ended, else with
// the error. It returns how the row ended, and whether it had not before.
func (a *Answer) fail(i int, err error) (sampling.Finish, bool) {
	end := results.NewRow(sampling.Result{Tokens: a.rows[i].request.Tokens, Finish: sampling.FinishError, Err: err}, 0, "")
	if a.ctx.Err() != nil {
		end.Finish, end.Error, err = sampling.FinishCancelled, a.cause().Error(), a.cause()
	}
	return end.Finish, a.finish(i, end, err)
}

// cause is why the answer's rows end early.
func (a *Answer) cause() error {
	cause := context.Cause(a.ctx)
	if errors.Is(cause, context.Canceled) { // of Ask's context
		return errLeft
	}
	return cause
}

// Close says that nobody reads any more: rows that have not ended end as cancelled, before their next forward pass. It may be called at
// any time, from any goroutine, and again.
func (a *Answer) Close() { a.cancel(errLeft) }
