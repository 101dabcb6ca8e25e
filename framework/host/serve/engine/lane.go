package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// machine is an opened host, as a lane drives it.
type machine interface {
	Live(ctx context.Context, run host.Live) error
	MostRows() int
	Padding() bool
	Provider() string
	Replaced() int64
	Fitter() func(rows []sampling.Request) error
	Close() error
}

// lane is a machine with the rows that wait for it and those that it runs. Rows join at its next step, and whoever is done makes room.
type lane struct {
	*settled
	open     func(context.Context) (machine, error)
	log      hclog.Logger
	tally    *tally
	batching bool
	pause    time.Duration // before the second attempt to open a machine again
	freed    func()        // called when it has nothing to do
	ended    func()        // called when it is about to end, without rows
	running  func(int)     // told how many rows more run

	machine  machine       // the worker's; nil after it failed
	ready    chan struct{} // closed when the machine is open, or failed to open
	failed   error         // then
	provider string        // likewise
	suits    func([]sampling.Request) error
	done     chan struct{}   // closed when the worker has ended
	ctx      context.Context // of the machine's processes
	end      context.CancelCauseFunc
	failures int // runs and openings that failed since a row was finished; the worker's

	mu      sync.Mutex
	queue   queue
	flying  map[int64]ref // by number in the run
	count   int64         // of rows so far
	only    *Answer       // whose row was first in the empty machine
	alone   bool          // rows that a run failed under, and that run by themselves lest they take others with them again
	width   int           // at which the model sees the rows in flight
	passed  int           // rows that were let pass while another one's turn was before
	idle    time.Time     // since when it has nothing to do; zero while it has
	held    int           // questions whose rows are about to come
	closing bool
	wake    chan struct{}

	slots []ref // by slot of the run, for events; the step loop's
}

// start opens the machine and works until close.
func (l *lane) start() {
	go func() {
		defer close(l.done)
		defer l.ended()
		l.machine, l.failed = l.open(l.ctx)
		if l.failed != nil {
			l.close()
			close(l.ready)
			return
		}
		l.provider, l.suits = l.machine.Provider(), l.machine.Fitter()
		l.tally.opened(l.machine)
		close(l.ready)
		l.freed()
		l.work(l.ctx)
	}()
}

// work runs rows until the lane is closed and none is left, or ctx ends, which ends them.
func (l *lane) work(ctx context.Context) {
	for l.wait(ctx) == nil && l.busy() {
		if err := l.run(ctx); err != nil {
			l.recover(ctx, err)
		} else {
			l.retry(errNotRun)
		}
	}
	l.close() // where ctx ended: what is pushed from here on would wait for ever
	l.abandon(context.Cause(ctx))
	if l.machine != nil {
		if err := l.machine.Close(); err != nil {
			l.log.Warn("a lane did not close well", "lane", l.String(), "error", err)
		}
	}
	l.tally.closed()
}

// run is one life of the machine, opened again where it has failed.
func (l *lane) run(ctx context.Context) error {
	if l.machine == nil {
		if err := l.backOff(ctx); err != nil {
			return err
		}
		m, err := l.open(ctx)
		if err != nil {
			return &openError{err}
		}
		l.machine = m
		l.tally.reopened(m)
	}
	last, before, replaced := sampling.Accounts{}, l.handed(), l.machine.Replaced()
	err := l.machine.Live(ctx, host.Live{Next: l.next, Wait: l.wait, Sink: l.sink, Observer: observer{l}, Account: func(a sampling.Accounts) {
		now := l.machine.Replaced()
		l.tally.passed(&last, &a, now-replaced)
		last, replaced = a, now
	}})
	if err == nil && l.handed() == before && l.busy() && ctx.Err() == nil {
		err = &sampling.Error{Code: sampling.ContractViolation, Object: "sampler " + l.cfg.Sampler.Name, Problem: "returned while rows wait",
			Hint: "drive the session until Admit returns no row and every row is emitted"}
	}
	return err
}

// close lets the lane end when its last row has.
func (l *lane) close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.rouse()
}

// hold keeps the lane from making room for another one until [lane.release]: rows for it are about to come. It is false where the lane
// takes none.
func (l *lane) hold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.held++
	return true
}

// release ends a hold.
func (l *lane) release() {
	l.mu.Lock()
	l.held--
	spare := l.spare()
	l.mu.Unlock()
	if spare {
		l.freed()
	}
}

// spare tells whether the lane has no rows, and none are about to come. l.mu is held.
func (l *lane) spare() bool { return l.held == 0 && !l.idle.IsZero() }

// idleSince is when the lane ran out of rows; zero while it opens, has some or is held.
func (l *lane) idleSince() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.spare() {
		return time.Time{}
	}
	return l.idle
}

// closeIdle closes the lane if it is idle still.
func (l *lane) closeIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.spare() {
		return false
	}
	l.closing = true
	l.rouse()
	return true
}

// prove runs one row, all of which opens in one step, and returns why it failed.
func (l *lane) prove(ctx context.Context, row model.Row) error {
	a := newAnswer(ctx, 0, l.model, 0, []sampling.Request{{Tokens: row.Tokens, Fixed: row.Fixed, FrozenGap: row.FrozenGap, Cap: row.Cap, Steps: 1,
		Params: sampling.Params{TopP: 1}}}, false, func() {})
	defer a.Close()
	a.proof = true
	if !l.push(a) {
		return errRetired
	}
	e, err := a.Next(ctx)
	if err == nil && e.Done.Error != "" {
		err = errors.New(e.Done.Error)
	}
	return err
}
