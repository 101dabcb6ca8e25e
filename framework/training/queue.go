package training

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// queue fills the inputs of the next pass while the runtime works on this one.
type queue struct {
	figures figures   // outputs of the passes
	scalars []float32 // of the optimiser, where it is a program of its own
	empty   chan *batch
	full    chan *batch
	stop    context.CancelFunc
	ended   chan struct{}
}

// batch is one feed on its way.
type batch struct {
	feed    *onnx.Feed
	inputs  *feeding
	scalars []float32 // of the optimiser, in a step of one pass
	keep    []float32 // of a step of several
	rows    int
	tokens  int64
	err     error
}

// newQueue makes two feeds and begins to fill them, from the run's present step on.
func (r *run) newQueue(ctx context.Context) (*queue, error) {
	q := &queue{empty: make(chan *batch, 2), full: make(chan *batch, 2), ended: make(chan struct{})}
	var err error
	if q.figures, err = newFigures(r.k.pass, r.Set.Manifest.Metrics); err != nil {
		return nil, err
	}
	if q.figures.loss, err = r.k.pass.Output(spec.Loss); err != nil {
		return nil, err
	}
	last := r.k.pass
	if r.k.update != nil {
		last = r.k.update
		if q.scalars, err = r.k.tail.Float32(artifact.Scalars); err != nil {
			return nil, err
		}
	}
	if q.figures.norm, err = last.Output(artifact.GradNorm); err != nil {
		return nil, err
	}
	order := data.InOrder
	if r.Shuffle {
		order = data.Random
	}
	loader := &data.Loader{Data: r.Train, Order: order, Seed: r.Seed}
	for range 2 {
		b := &batch{}
		if b.feed, err = r.k.pass.NewFeed(); err != nil {
			return nil, err
		}
		if b.inputs, err = newFeeding(b.feed, &r.Set.Manifest, r.Set.Manifest.Training, r.Set.Manifest.Rows, loader, r.Seed); err != nil {
			return nil, err
		}
		if r.k.update == nil {
			b.scalars, err = b.feed.Float32(artifact.Scalars)
		} else {
			b.keep, err = b.feed.Float32(artifact.Keep)
		}
		if err != nil {
			return nil, err
		}
		q.empty <- b
	}
	ctx, q.stop = context.WithCancel(ctx)
	go q.run(ctx, r.step*int64(r.Accumulate), r)
	return q, nil
}

// run fills feeds for one pass after the other. It reads nothing of r that changes.
func (q *queue) run(ctx context.Context, passes int64, r *run) {
	defer close(q.ended)
	micro := int64(r.Accumulate)
	for n := passes; n < r.Steps*micro; n++ {
		var b *batch
		select {
		case b = <-q.empty:
		case <-ctx.Done():
			return
		}
		b.rows, b.tokens, b.err = b.inputs.fill(r.passAt(n))
		if b.scalars != nil {
			r.scalars(b.scalars, n/micro+1)
		}
		if b.keep != nil {
			b.keep[0] = float32(min(n%micro, 1))
		}
		q.full <- b
	}
}

// passAt is the nth pass of the run, counted from 0.
func (r *run) passAt(n int64) pass {
	rows, micro := r.Set.Manifest.Rows, int64(r.Accumulate)
	step := n / micro
	return pass{position: n * int64(rows), step: step, row: int(n%micro) * rows, batch: rows * int(micro), done: float32(float64(step) / float64(r.Steps))}
}

// next waits for a filled feed.
func (q *queue) next(ctx context.Context) (*batch, error) {
	select {
	case b := <-q.full:
		return b, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// done gives a feed back.
func (q *queue) done(b *batch) { q.empty <- b }

// close ends the filling; nobody touches the feeds after it.
func (q *queue) close() {
	q.stop()
	<-q.ended
}
