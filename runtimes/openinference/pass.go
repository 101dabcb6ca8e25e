package openinference

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// leastRows is how many rows a request has at least, where a batch could be spread over several endpoints: fewer are not worth the way.
const leastRows = 4

// part is a request's share of a pass: rows [lo, hi) of those that the model runs, which are the batch's, and with guidance once again
// without their prompts. The request holds them in [rows, length]: a graph of fixed sizes wants more than there are.
type part struct{ lo, hi, rows, length int }

// Run implements [sampling.Denoiser]. The error names the endpoint, and what was expected and found where its answer is not sound.
func (d *Denoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := d.current
	switch {
	case d.life.Err() != nil:
		return nil, d.errClosed()
	case s == nil:
		return nil, fmt.Errorf("model %s: Run before Batch", d.model.Name)
	}
	if err := d.head.checkRows(&s.batch); err != nil {
		return nil, fmt.Errorf("model %s: %w", d.model.Name, err)
	}
	if !d.head.served {
		if err := d.widen(s.batch.B * s.batch.L * d.model.V); err != nil {
			return nil, err
		}
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	err := d.ask(asking, s)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.life.Err() != nil:
		return nil, d.errClosed()
	case err != nil:
		return nil, err
	}
	d.traffic.passes.Add(1)
	if !d.head.served {
		if err := d.compute(s); err != nil {
			return nil, fmt.Errorf("model %s: %w", d.model.Name, err)
		}
	}
	return &s.stats, nil
}

// ask sends all parts of a pass at once.
func (d *Denoiser) ask(ctx context.Context, s *shape) error {
	parts := d.split(d.head.passes*s.batch.B, s.batch.L)
	if len(parts) == 1 {
		return d.send(ctx, s, parts[0])
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range parts {
		group.Go(func() error { return d.send(ctx, s, p) })
	}
	return group.Wait()
}

// split divides rows of length l over the endpoints that are ready, in requests no larger than the servers take.
func (d *Denoiser) split(rows, l int) []part {
	p := d.ports
	ready, _ := d.fleet.ready()
	most := d.fleet.most()
	shares := max(1, min(ready, rows/leastRows))
	size := (rows + shares - 1) / shares
	if most > 0 {
		size = min(size, most)
	}
	if p.rows > 0 {
		size = p.rows
	}
	var parts []part
	for lo := 0; lo < rows; lo += size {
		one := part{lo: lo, hi: min(lo+size, rows), length: max(l, p.length)}
		if one.rows = one.hi - lo; p.rows > 0 {
			one.rows = p.rows
		}
		parts = append(parts, one)
	}
	return parts
}

// send asks for one part until an endpoint answers, and takes what it says.
func (d *Denoiser) send(ctx context.Context, s *shape, p part) error {
	r := d.request(s, p)
	var last *endpoint
	for try := 0; ; try++ {
		e := d.fleet.acquire(p.rows, last)
		answer, err := d.try(ctx, e, r)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // the caller's doing, or another part's, and no failure of this endpoint
		}
		d.fleet.release(e, p.rows, err)
		switch {
		case err == nil:
			if err := d.take(s, p, answer); err != nil {
				return fmt.Errorf("endpoint %s, model %s: %w", e.address, d.options.Model, err)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !retriable(err):
			return fmt.Errorf("endpoint %s, model %s: %w", e.address, d.options.Model, err)
		case try == d.options.Retries:
			return fmt.Errorf("model %s: no endpoint answered in %d tries (%s); start the servers, or raise runtime.retries or runtime.timeout", d.options.Model, try+1, d.fleet.states())
		}
		d.traffic.retries.Add(1)
		if err := d.fleet.wait(ctx, try); err != nil {
			return err
		}
		last = e
	}
}

// try sends a request to one endpoint.
func (d *Denoiser) try(ctx context.Context, e *endpoint, r *request) ([]tensor, error) {
	d.traffic.requests.Add(1)
	limited, cancel := context.WithTimeout(ctx, d.options.Timeout)
	defer cancel()
	answer, err := e.infer(limited, r)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil, again("no answer within %s (runtime.timeout)", d.options.Timeout)
	}
	return answer, err
}
