package onnx

import (
	"fmt"
	"unsafe"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Feed is memory for every input of a program that no state is bound to, zeros at first. Two feeds let one be filled while
// the program runs with the other. Its slices stay valid until the feed or its program is closed, and so do the numbers in
// them, so that what never changes is written once.
type Feed struct {
	program *Program
	buffers []buffer // one per input of the program; empty for those of states
	closed  bool
}

// NewFeed allocates a feed.
func (p *Program) NewFeed() (*Feed, error) {
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.device.mu.Unlock()
	f := &Feed{program: p, buffers: make([]buffer, len(p.inputs))}
	for i, at := range p.inputs {
		if at.state != nil {
			continue
		}
		var err error
		if f.buffers[i], err = newBuffer(p.device.host, at.typ, at.dims); err != nil {
			f.free()
			return nil, p.model.Wrap(fmt.Errorf("input %s: %w; use a smaller batch", at, plain(err)))
		}
	}
	p.feeds[f] = struct{}{}
	return f, nil
}

// Float32 returns the elements of a float32 input, row-major. The error of a wrong name or type lists what there is.
func (f *Feed) Float32(name string) ([]float32, error) {
	return feedOf[float32](f, name, graph.Float32)
}

// Float64 is Float32 for float64 inputs.
func (f *Feed) Float64(name string) ([]float64, error) {
	return feedOf[float64](f, name, graph.Float64)
}

// Int64 is Float32 for int64 inputs.
func (f *Feed) Int64(name string) ([]int64, error) { return feedOf[int64](f, name, graph.Int64) }

// Int32 is Float32 for int32 inputs.
func (f *Feed) Int32(name string) ([]int32, error) { return feedOf[int32](f, name, graph.Int32) }

// Uint8 is Float32 for uint8 inputs.
func (f *Feed) Uint8(name string) ([]uint8, error) { return feedOf[uint8](f, name, graph.Uint8) }

// Bool is Float32 for bool inputs.
func (f *Feed) Bool(name string) ([]bool, error) { return feedOf[bool](f, name, graph.Bool) }

func feedOf[T any](f *Feed, name string, typ graph.Type) ([]T, error) {
	p := f.program
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.device.mu.Unlock()
	if f.closed {
		return nil, f.errClosed()
	}
	var known, fed []string
	for i, at := range p.inputs {
		switch {
		case at.name == name && at.state != nil:
			return nil, p.model.Wrap(fmt.Errorf("input %s is bound to state %s and is not fed; write the state", at, at.state.name))
		case at.name == name && at.typ != typ:
			return nil, p.model.Wrap(fmt.Errorf("input %s was asked for as %s; use its own type", at, typ))
		case at.name == name:
			return elements[T](f.buffers[i], at), nil
		case at.state == nil:
			known, fed = append(known, at.name), append(fed, at.String())
		}
	}
	return nil, p.model.Wrap(fmt.Errorf("has no input %q to feed: %s%s", name, nearest(name, known), listed(fed)))
}

// listed appends the values with their types and shapes.
func listed(values []string) string {
	text := ""
	for _, v := range values {
		text += "\n  " + v
	}
	return text
}

// elements lays a slice over a buffer.
func elements[T any](b buffer, at slot) []T {
	n := 1
	for _, d := range at.dims {
		n *= int(d)
	}
	return unsafe.Slice((*T)(b.data), n)
}

func (f *Feed) errClosed() error {
	return fmt.Errorf("model %s: the feed was closed", f.program.model.Name)
}

// Close frees the feed's memory. It waits for a run in progress and may be called more than once.
func (f *Feed) Close() error {
	d := f.program.device
	d.mu.Lock()
	defer d.mu.Unlock()
	f.free()
	delete(f.program.feeds, f)
	return nil
}

func (f *Feed) free() {
	f.closed = true
	for i := range f.buffers {
		f.buffers[i].free(f.program.device.library, f.program.device.host)
	}
}
