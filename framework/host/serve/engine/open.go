package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// Engine answers questions. Its methods may be called from any goroutine.
type Engine struct {
	options host.Options
	log     hclog.Logger
	open    func(context.Context, *settled) (machine, error)
	tallies tallies
	pause   time.Duration // before the second attempt to open a host again; doubled up to 64 times that
	running atomic.Int64  // rows that lanes run

	reloading sync.Mutex // one at a time

	mu       sync.Mutex
	current  *generation
	lanes    map[*lane]bool // of all generations, that have not ended
	rows     int            // that have not ended
	empty    chan struct{}  // closed when the engine drains and no row is left
	draining bool           // no question is let in any more
	stopped  bool           // nor is a lane opened for those that are in
}

// Open opens the models that cfg serves, each with the settings of cfg, and shows by one row each that they work. Errors name the model.
// Of o counts what cfg does not say: the logger, and whether plugins are processes.
func Open(ctx context.Context, cfg *config.Config, o host.Options) (*Engine, error) {
	return open(ctx, cfg, o, func(ctx context.Context, s *settled) (machine, error) {
		own := o
		own.Model, own.Truncates, own.Vet = s.model, s.truncates(), s.vet
		own.Plugins, own.Deadlines = s.cfg.Plugins, host.Deadlines(s.cfg.Plugins)
		return host.Open(ctx, s.cfg, own)
	})
}

func open(ctx context.Context, cfg *config.Config, o host.Options, machines func(context.Context, *settled) (machine, error)) (*Engine, error) {
	e := &Engine{options: o, log: o.Logger, open: machines, pause: 100 * time.Millisecond, lanes: map[*lane]bool{}, empty: make(chan struct{})}
	if e.log == nil {
		e.log = hclog.NewNullLogger()
	}
	g, err := e.generate(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.current = g
	return e, nil
}

// generation returns the one that answers now.
func (e *Engine) generation() (*generation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, ErrDraining
	}
	return e.current, nil
}

// enter lets rows in, unless more than most would wait then.
func (e *Engine) enter(n, most int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.draining:
		return ErrDraining
	case e.rows-int(e.running.Load())+n > most:
		e.tallies.refused.Add(1)
		return ErrBusy
	}
	e.rows += n
	return nil
}

// leave lets rows out.
func (e *Engine) leave(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rows -= n; e.rows == 0 && e.draining {
		close(e.empty)
	}
}

// newLane is a lane that is not yet started, and whose machine lives on when ctx ends. The error is [ErrDraining]: all lanes were ended.
func (e *Engine) newLane(ctx context.Context, s *settled, batching bool, freed func()) (*lane, error) {
	l := &lane{settled: s, log: e.log, batching: batching, pause: e.pause, freed: freed, tally: e.tallies.of(kind{s.name, s.cfg.Planner.Name, s.cfg.Sampler.Name}),
		running: func(more int) { e.running.Add(int64(more)) },
		open:    func(ctx context.Context) (machine, error) { return e.open(ctx, s) },
		ready:   make(chan struct{}), done: make(chan struct{}), flying: map[int64]ref{}, wake: make(chan struct{}, 1)}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		l.end(errStopped)
		return nil, ErrDraining
	}
	e.lanes[l] = true
	return l, nil
}

// forget lets go of a lane that has ended.
func (e *Engine) forget(l *lane) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.lanes, l)
}
