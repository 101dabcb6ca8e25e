package onnx

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// State is a tensor that stays where its device computes. Programs read and write it; the host only copies it whole. It
// starts as zeros.
type State struct {
	device  *Device
	name    string
	typ     graph.Type
	dims    []int64
	buffers []buffer // one, or two of which one is current
	current int
	closed  bool
}

// buffer is memory with a tensor laid over it.
type buffer struct {
	data  unsafe.Pointer
	value unsafe.Pointer // OrtValue
}

// The types that states and feeds may have, with the bytes of an element.
var sizes = map[graph.Type]int{
	graph.Float32: 4, graph.Float64: 8, graph.Float16: 2, graph.BFloat16: 2,
	graph.Int64: 8, graph.Int32: 4, graph.Int8: 1, graph.Uint8: 1, graph.Bool: 1,
}

// NewState makes a state with two buffers, so that a program may read and write it in one run, and a run that fails changes
// nothing. No dims make a scalar.
func (d *Device) NewState(name string, typ graph.Type, dims ...int64) (*State, error) {
	return d.newState(2, name, typ, dims)
}

// NewTransient makes a state with one buffer: for what one program hands to the next, such as gradients. No program can read
// and write it in one run, and after a run that failed to write it, it holds anything.
func (d *Device) NewTransient(name string, typ graph.Type, dims ...int64) (*State, error) {
	return d.newState(1, name, typ, dims)
}

func (d *Device) newState(buffers int, name string, typ graph.Type, dims []int64) (*State, error) {
	s := &State{device: d, name: name, typ: typ, dims: slices.Clone(dims)}
	if sizes[typ] == 0 {
		return nil, fmt.Errorf("state %s: elements %s cannot be kept; use float32, or another numeric type", name, typ)
	}
	if _, err := volume(typ, dims); err != nil {
		return nil, fmt.Errorf("state %s: %w", name, err)
	}
	if err := d.lock("state", name); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	for range buffers {
		b, err := newBuffer(d.place, typ, dims)
		s.buffers = append(s.buffers, b)
		if err == nil {
			err = s.clear(b)
		}
		if err != nil {
			s.free()
			return nil, fmt.Errorf("state %s: %w; free memory, or make the model smaller", name, plain(err))
		}
	}
	d.open[s] = struct{}{}
	return s, nil
}

// clear zeroes a buffer on a device; those of the host are zeros.
func (s *State) clear(b buffer) error {
	if s.device.carrier.session == nil {
		return nil
	}
	zeros := make([]byte, min(s.Bytes(), parcel))
	for at := 0; at < s.Bytes(); at += len(zeros) {
		part := zeros[:min(len(zeros), s.Bytes()-at)]
		if err := s.fromHost(part, unsafe.Add(b.data, at)); err != nil {
			return err
		}
	}
	return nil
}

// volume returns the bytes of a tensor.
func volume(typ graph.Type, dims []int64) (int, error) {
	n := int64(sizes[typ])
	for _, d := range dims {
		if d < 0 || d > 0 && n > 1<<46/d {
			return 0, fmt.Errorf("shape %v is not one that memory could hold; give sizes from 0 up", dims)
		}
		n *= d
	}
	return int(n), nil
}

func newBuffer(p *capi.Place, typ graph.Type, dims []int64) (b buffer, err error) {
	n, err := volume(typ, dims)
	if err != nil {
		return b, err
	}
	if b.data, err = p.Alloc(n); err != nil {
		return b, err
	}
	b.value, err = p.Tensor(b.data, n, int32(typ), dims...)
	return b, err
}

func (b *buffer) free(l *capi.Library, p *capi.Place) {
	l.ReleaseValue(b.value)
	p.Free(b.data)
	*b = buffer{}
}

// Bytes is the size of the state's elements together.
func (s *State) Bytes() int {
	n, _ := volume(s.typ, s.dims) // checked when it was made
	return n
}

// String is the state's name, type and shape.
func (s *State) String() string { return fmt.Sprintf("%s %s %v", s.name, s.typ, s.dims) }

// Write sets the whole state from data: little-endian elements, row-major. It errs where the length is another.
func (s *State) Write(data []byte) error { return s.transfer(data, true) }

// Read copies the whole state into into, which must have its length.
func (s *State) Read(into []byte) error { return s.transfer(into, false) }

// WriteFloats is Write of float32 elements.
func (s *State) WriteFloats(v []float32) error {
	if s.typ != graph.Float32 {
		return fmt.Errorf("state %s: holds %s, and float32 was given; use Write", s.name, s.typ)
	}
	return s.Write(bytesOf(v))
}

// ReadFloats is Read of float32 elements.
func (s *State) ReadFloats(into []float32) error {
	if s.typ != graph.Float32 {
		return fmt.Errorf("state %s: holds %s, and float32 was asked for; use Read", s.name, s.typ)
	}
	return s.Read(bytesOf(into))
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

func (s *State) transfer(data []byte, write bool) error {
	size := sizes[s.typ]
	if n := s.Bytes(); len(data) != n {
		return fmt.Errorf("state %s: %d elements are %d bytes, and %d were given; give the whole tensor", s, n/size, n, len(data))
	}
	if err := s.lock(); err != nil {
		return err
	}
	defer s.device.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	var err error
	if at := s.buffers[s.current].data; write {
		err = s.fromHost(data, at)
	} else {
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&data[0])
		err = s.device.carry(s.device.place, at, s.device.host, unsafe.Pointer(&data[0]), len(data))
	}
	if err != nil {
		return fmt.Errorf("state %s: copy of %d bytes: %w", s.name, len(data), plain(err))
	}
	return nil
}

func (s *State) fromHost(data []byte, to unsafe.Pointer) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&data[0])
	return s.device.carry(s.device.host, unsafe.Pointer(&data[0]), s.device.place, to, len(data))
}

// Swap exchanges the contents of two states of one device, type, shape and number of buffers, without a copy: to evaluate
// with averaged parameters, say, and to go back.
func (s *State) Swap(with *State) error {
	if s.device != with.device || s.typ != with.typ || !slices.Equal(s.dims, with.dims) || len(s.buffers) != len(with.buffers) {
		return fmt.Errorf("state %s: cannot be swapped with %s; both need the same device, type, shape and kind", s, with)
	}
	if err := s.lock(); err != nil {
		return err
	}
	defer s.device.mu.Unlock()
	if with.closed {
		return with.errClosed()
	}
	s.buffers, with.buffers = with.buffers, s.buffers
	s.current, with.current = with.current, s.current
	return nil
}

// lock locks the device, unless the state is closed.
func (s *State) lock() error {
	if err := s.device.lock("state", s.name); err != nil {
		return err
	}
	if s.closed {
		s.device.mu.Unlock()
		return s.errClosed()
	}
	return nil
}

func (s *State) errClosed() error { return fmt.Errorf("state %s: it was closed", s.name) }

// Close frees the state. Programs bound to it refuse to run from then on. It may be called more than once.
func (s *State) Close() error {
	s.device.release(s)
	return nil
}

func (s *State) free() {
	s.closed = true
	for i := range s.buffers {
		s.buffers[i].free(s.device.library, s.device.place)
	}
}
