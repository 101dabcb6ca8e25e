package openinference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// fleet are the endpoints of a model. Rows go to those that are ready; one that fails is asked in the background until it is ready again.
type fleet struct {
	endpoints []*endpoint
	model     string
	check     func(*signature) (*ports, error)
	ports     *ports // of all endpoints, but for the rows that one takes at once, which may change

	life    context.Context
	probes  sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	rows    int           // that every endpoint takes at once; 0 sets no limit
	next    int           // where the search for an endpoint begins
	changed chan struct{} // closed when an endpoint becomes ready
}

// endpoint is one server.
type endpoint struct {
	transport
	address string

	// What follows is guarded by the fleet's mu.
	up   bool
	busy int   // rows on their way
	why  error // it is not up
}

// The times between two questions to an endpoint that is not ready, and between tries: the first is doubled up to the last.
const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 5 * time.Second
)

// probeTime bounds how long an endpoint may take to say whether it is ready.
const probeTime = 10 * time.Second

// dial makes the endpoints. Nothing is sent yet.
func dial(o *Options, t *traffic) (*fleet, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("runtime openinference: no endpoint is given; set runtime.endpoints, such as [\"grpc://gpu1:8001\"]")
	}
	way, err := secure(o)
	if err != nil {
		return nil, err
	}
	f := &fleet{model: o.Model, changed: make(chan struct{})}
	for i, address := range o.Endpoints {
		if slices.Contains(o.Endpoints[:i], address) {
			f.close()
			return nil, fmt.Errorf("endpoint %s: it is named twice in runtime.endpoints; leave one out", address)
		}
		way, err := connect(address, o, way, t)
		if err != nil {
			f.close()
			return nil, err
		}
		f.endpoints = append(f.endpoints, &endpoint{transport: way, address: address})
	}
	return f, nil
}

// open asks all endpoints at once and returns what they serve. Those that do not answer are asked on until life ends, if one does.
func (f *fleet) open(ctx, life context.Context, check func(*signature) (*ports, error)) (*ports, error) {
	f.check, f.life = check, life
	found := make([]*ports, len(f.endpoints))
	var asked sync.WaitGroup
	for i, e := range f.endpoints {
		asked.Go(func() { found[i], e.why = f.ask(ctx, e) })
	}
	asked.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var wrong, down []error
	for i, e := range f.endpoints {
		switch {
		case e.why != nil && retriable(e.why):
			down = append(down, e.fail(e.why))
		case e.why != nil:
			wrong = append(wrong, fmt.Errorf("endpoint %s, model %s: %w", e.address, f.model, e.why))
		case f.ports == nil:
			f.ports, e.up = found[i], true
		default:
			if e.up = f.ports.same(found[i]); !e.up {
				wrong = append(wrong, fmt.Errorf("endpoint %s, model %s: its graph is not that of the endpoints before it; serve the same export on all", e.address, f.model))
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, errors.Join(wrong...)
	case f.ports == nil:
		return nil, fmt.Errorf("%w; start the server, or correct runtime.endpoints", errors.Join(down...))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range f.endpoints {
		if !e.up {
			f.probe(e)
		} else {
			f.bound(found[i].maxBatch)
		}
	}
	return f.ports, nil
}

// ask asks one endpoint whether it is ready and what it serves.
func (f *fleet) ask(ctx context.Context, e *endpoint) (*ports, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	s, err := e.describe(ctx)
	if err != nil {
		return nil, err
	}
	return f.check(s)
}

// acquire returns the endpoint that shall take so many rows: the one with the fewest on their way among those that are ready, or among all
// where none is, in turn where several have as few. It may be one of avoid only where all are.
func (f *fleet) acquire(rows int, avoid *endpoint) *endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *endpoint
	better := func(a, b *endpoint) bool {
		switch {
		case a.up != b.up:
			return a.up
		case (a == avoid) != (b == avoid):
			return b == avoid
		}
		return a.busy < b.busy
	}
	for i := range f.endpoints {
		e := f.endpoints[(f.next+i)%len(f.endpoints)]
		if best == nil || better(e, best) {
			best = e
		}
	}
	f.next = (slices.Index(f.endpoints, best) + 1) % len(f.endpoints)
	best.busy += rows
	return best
}

// release takes the rows back. With a failure that another endpoint may not have, this one is out until it says that it is ready.
func (f *fleet) release(e *endpoint, rows int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.busy -= rows
	if err != nil && retriable(err) && e.up {
		e.up, e.why = false, err
		f.probe(e)
	}
}

// probe asks an endpoint in the background until it is ready. The caller holds mu.
func (f *fleet) probe(e *endpoint) {
	if f.closed {
		return
	}
	f.probes.Go(func() {
		for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
			select {
			case <-f.life.Done():
				return
			case <-time.After(delay):
			}
			found, err := f.ask(f.life, e)
			if err == nil && !f.ports.same(found) {
				err = errors.New("it serves another graph than before")
			}
			f.mu.Lock()
			e.up, e.why = err == nil, err
			if e.up {
				f.bound(found.maxBatch)
				close(f.changed)
				f.changed = make(chan struct{})
			}
			f.mu.Unlock()
			if err == nil {
				return
			}
		}
	})
}

// bound takes in how many rows an endpoint takes at once. The caller holds mu.
func (f *fleet) bound(rows int) {
	if rows > 0 && (f.rows == 0 || rows < f.rows) {
		f.rows = rows
	}
}

// most is how many rows every endpoint takes at once; 0 sets no limit.
func (f *fleet) most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows
}

// ready counts the endpoints that are, and returns what is closed when there are more.
func (f *fleet) ready() (int, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, e := range f.endpoints {
		if e.up {
			n++
		}
	}
	return n, f.changed
}

// wait waits until an endpoint is ready, but not longer than the delay before the try of that number.
func (f *fleet) wait(ctx context.Context, try int) error {
	n, changed := f.ready()
	if n > 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-time.After(min(firstDelay<<min(try, 10), lastDelay)):
	}
	return nil
}

// notes are what a user should know of the endpoints.
func (f *fleet) notes() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.endpoints {
		if !e.up {
			out = append(out, fmt.Sprintf("endpoint %s is not ready and asked again until it is: %v", e.address, e.why))
		} else if note := e.note(); note != "" {
			out = append(out, fmt.Sprintf("endpoint %s: %s", e.address, note))
		}
	}
	return out
}

// states says of each endpoint why it is not ready, for messages.
func (f *fleet) states() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.endpoints {
		if e.up {
			out = append(out, e.address+" is ready")
		} else {
			out = append(out, fmt.Sprintf("%s: %v", e.address, e.why))
		}
	}
	return strings.Join(out, "; ")
}

func (e *endpoint) fail(err error) error { return fmt.Errorf("endpoint %s: %w", e.address, err) }

// close ends all connections and waits for those who ask in the background. Their context has ended.
func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, e := range f.endpoints {
		e.close()
	}
	f.probes.Wait()
}
