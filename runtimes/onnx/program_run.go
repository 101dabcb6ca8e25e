package onnx

import (
	"context"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// Run computes the outputs once, from the feed and from what the states hold, and then lets each written state hold what was
// written. A run that fails or whose ctx ends leaves the states as they were, but for transients. feed may be nil where every
// input is a state. Numbers that are not finite are no failure.
func (p *Program) Run(ctx context.Context, feed *Feed) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.lock(); err != nil {
		return err
	}
	defer p.device.mu.Unlock()
	if err := p.point(feed); err != nil {
		return err
	}
	err := p.runSession(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case p.device.closed.Load():
		return fmt.Errorf("model %s: its device was closed during a run", p.model.Name)
	default:
		return p.model.Wrap(fmt.Errorf("a run failed: %w", p.device.failed(err, "compare the fed numbers with what the graph expects")))
	}
	for _, s := range p.written {
		s.current = (s.current + 1) % len(s.buffers)
	}
	return nil
}

// point puts the tensors of this run into p.in and p.out.
func (p *Program) point(feed *Feed) error {
	if feed != nil && feed.program != p {
		return p.model.Wrap(fmt.Errorf("the feed is of model %s; make one with this program's NewFeed", feed.program.model.Name))
	}
	if feed != nil && feed.closed {
		return feed.errClosed()
	}
	for i := range p.inputs {
		at := &p.inputs[i]
		switch s := at.state; {
		case s != nil && s.closed:
			return p.model.Wrap(s.errClosed())
		case s != nil:
			p.in[i] = s.buffers[s.current].value
		case feed == nil:
			return p.model.Wrap(fmt.Errorf("input %s is fed, and no feed was given; make one with NewFeed", at))
		default:
			p.in[i] = feed.buffers[i].value
		}
	}
	for i := range p.outputs {
		s := p.outputs[i].state
		if s == nil {
			continue
		}
		if s.closed {
			return p.model.Wrap(s.errClosed())
		}
		p.out[i] = s.buffers[(s.current+1)%len(s.buffers)].value
	}
	return nil
}

// runSession runs the session on its thread and ends it early when ctx ends or the device is closed.
func (p *Program) runSession(ctx context.Context) error {
	if !p.device.begin(p.run) {
		return p.errClosed()
	}
	defer p.device.begin(nil)
	if ctx.Done() == nil {
		return p.worker.Run(rawRun(p.run), p.in, p.out)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = p.run.Terminate()
		close(ended)
	})
	err := p.worker.Run(rawRun(p.run), p.in, p.out)
	if !stop() { // the flag is set, or about to be: take it back for the next run
		<-ended
		_ = p.run.UnsetTerminate()
	}
	return err
}

// begin says which run Close must end, or none. It returns false where Close was faster.
func (d *Device) begin(run *ort.RunOptions) bool {
	d.end.Lock()
	defer d.end.Unlock()
	d.active = run
	return !d.closed.Load()
}
