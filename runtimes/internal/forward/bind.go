package forward

import (
	"unsafe"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// Tensor is memory outside the Go heap that a session reads or writes.
type Tensor struct {
	Type  graph.Type // Int64, Int32, Uint8, Float32 or Float64
	Dims  []int64
	Data  unsafe.Pointer
	Count int // numbers

	// Turned takes the place of Data in passes with Pass.Turn 1. Tensors that have it stay where the session computes, in
	// Options.Place; all others are the host's.
	Turned unsafe.Pointer

	// Version counts how often the numbers were changed; nil where every pass may change them.
	Version *int
}

// Of returns the numbers of a tensor, whose type T must be.
func Of[T any](t Tensor) []T { return unsafe.Slice((*T)(t.Data), t.Count) }

// element are the types of numbers that tensors hold.
type element interface {
	int64 | int32 | uint8 | float32 | float64
}

func typeOf[T element]() graph.Type {
	switch any(T(0)).(type) {
	case int64:
		return graph.Int64
	case int32:
		return graph.Int32
	case uint8:
		return graph.Uint8
	case float32:
		return graph.Float32
	}
	return graph.Float64
}

// allocation carries the first error of a build.
type allocation struct{ err error }

func alloc[T any](a *allocation, s *Pass, n int) []T {
	if a.err != nil {
		return nil
	}
	out, err := offheap.Alloc[T](&s.memory, n)
	a.err = err
	return out
}

// bind lists a tensor of dims with the numbers of data, of which there may be more than enough.
func bind[T element](a *allocation, to *[]Tensor, data []T, dims ...int) {
	if a.err != nil {
		return
	}
	t := Tensor{Type: typeOf[T](), Data: unsafe.Pointer(unsafe.SliceData(data)), Count: 1}
	for _, d := range dims {
		t.Dims = append(t.Dims, int64(d))
		t.Count *= d
	}
	*to = append(*to, t)
}

// bindState lists a tensor of the head's memory.
func bindState(a *allocation, to *[]Tensor, data, turned unsafe.Pointer, dims ...int) {
	bind(a, to, []float32(nil), dims...)
	if a.err == nil {
		last := &(*to)[len(*to)-1]
		last.Data, last.Turned = data, turned
	}
}

// seldom says of the last input that its numbers change only when the version does.
func seldom(a *allocation, s *Pass, version *int) {
	if a.err == nil {
		s.In[len(s.In)-1].Version = version
	}
}

// feed binds src [b, l, width] as an input of dims, through a padded copy where the model's dimensions are fixed. Rows beyond
// the batch repeat its last one, which is sound input to any model.
func feed[T element](a *allocation, s *Pass, src []T, width int, pad T, dims ...int) {
	if !s.padded() {
		bind(a, &s.In, src, dims...)
		return
	}
	dst := alloc[T](a, s, s.rows*s.length*width)
	for i := range dst {
		dst[i] = pad
	}
	from, to := s.l*width, s.length*width
	s.feeds = append(s.feeds, func() {
		for i := range s.rows {
			r := min(i, s.b-1)
			copy(dst[i*to:], src[r*from:(r+1)*from])
		}
	})
	bind(a, &s.In, dst, dims...)
}

// feedParams lays the rows' parameters out as [B, 4] float32.
func feedParams(a *allocation, s *Pass) {
	dst := alloc[float32](a, s, 4*s.rows)
	s.feeds = append(s.feeds, func() {
		for i := range s.rows {
			p := s.Batch.Params[min(i, s.b-1)]
			copy(dst[4*i:], []float32{p.Temperature, float32(p.TopK), p.TopP, p.MinP})
		}
	})
	bind(a, &s.In, dst, s.rows, 4)
}

// fetch binds an output [n, rows, length, width] and returns its part [n, b, l, width], in out if that is given.
func fetch[T element](a *allocation, s *Pass, out []T, n, width int, dims ...int) []T {
	if out == nil {
		out = alloc[T](a, s, n*s.b*s.l*width)
	}
	if !s.padded() {
		bind(a, &s.Out, out, dims...)
		return out
	}
	src := alloc[T](a, s, n*s.rows*s.length*width)
	to, from := s.l*width, s.length*width
	s.fetches = append(s.fetches, func() {
		for i := range n {
			for j := range s.b {
				copy(out[(i*s.b+j)*to:(i*s.b+j+1)*to], src[(i*s.rows+j)*from:])
			}
		}
	})
	bind(a, &s.Out, src, dims...)
	return out
}
