package onnx

import (
	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// allocation carries the first error of a build.
type allocation struct{ err error }

func alloc[T any](a *allocation, s *shape, n int) []T {
	if a.err != nil {
		return nil
	}
	out, err := capi.Alloc[T](&s.memory, n)
	a.err = err
	return out
}

func bind[T ort.TensorData](a *allocation, to *[]ort.Value, data []T, dims ...int) {
	if a.err != nil {
		return
	}
	shape := make(ort.Shape, len(dims))
	for i, d := range dims {
		shape[i] = int64(d)
	}
	t, err := ort.NewTensor(shape, data)
	if err != nil {
		a.err = err
		return
	}
	*to = append(*to, t)
}

// feed binds src [b, l, width] as an input of dims, through a padded copy where the model's dimensions are fixed. Rows beyond
// the batch repeat its last one, which is sound input to any model.
func feed[T ort.TensorData](a *allocation, s *shape, src []T, width int, pad T, dims ...int) {
	if !s.padded() {
		bind(a, &s.inputs, src, dims...)
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
	bind(a, &s.inputs, dst, dims...)
}

// feedPort binds one of the model's own inputs.
func feedPort(a *allocation, s *shape, p port, padID int64) {
	switch p.name {
	case "input_ids":
		feedAs(a, s, p, s.batch.Tokens, padID)
	case "attention_mask":
		feedAs(a, s, p, s.batch.Attention, 0)
	case "token_type_ids":
		feedAs(a, s, p, alloc[int64](a, s, s.b*s.l), 0)
	case "position_ids":
		positions := alloc[int64](a, s, s.b*s.l)
		for i := range positions {
			positions[i] = int64(i % s.l)
		}
		feedAs(a, s, p, positions, 0)
	case "timesteps":
		dims := []int{s.rows, 1}[:p.rank]
		time := s.batch.Time
		if s.rows != s.b {
			time = alloc[float32](a, s, s.rows)
			s.feeds = append(s.feeds, func() {
				for i := range time {
					time[i] = s.batch.Time[min(i, s.b-1)]
				}
			})
		}
		bind(a, &s.inputs, time, dims...)
	}
}

// feedAs binds int64 values in the type that the model wants.
func feedAs(a *allocation, s *shape, p port, src []int64, pad int64) {
	switch p.typ {
	case graph.Int32:
		feedConverted[int32](a, s, src, pad)
	case graph.Float32:
		feedConverted[float32](a, s, src, pad)
	default:
		feed(a, s, src, 1, pad, s.rows, s.length)
	}
}

func feedConverted[T int32 | float32](a *allocation, s *shape, src []int64, pad int64) {
	dst := alloc[T](a, s, s.rows*s.length)
	for i := range dst {
		dst[i] = T(pad)
	}
	s.feeds = append(s.feeds, func() {
		for i := range s.rows {
			r := min(i, s.b-1)
			for j, x := range src[r*s.l : (r+1)*s.l] {
				dst[i*s.length+j] = T(x)
			}
		}
	})
	bind(a, &s.inputs, dst, s.rows, s.length)
}

// feedParams lays the rows' parameters out as [B, 4] float32.
func feedParams(a *allocation, s *shape) {
	dst := alloc[float32](a, s, 4*s.rows)
	s.feeds = append(s.feeds, func() {
		for i := range s.rows {
			p := s.batch.Params[min(i, s.b-1)]
			copy(dst[4*i:], []float32{p.Temperature, float32(p.TopK), p.TopP, p.MinP})
		}
	})
	bind(a, &s.inputs, dst, s.rows, 4)
}

// fetch binds an output [n, rows, length, width] and returns its part [n, b, l, width], in out if that is given.
func fetch[T ort.TensorData](a *allocation, s *shape, out []T, n, width int, dims ...int) []T {
	if out == nil {
		out = alloc[T](a, s, n*s.b*s.l*width)
	}
	if !s.padded() {
		bind(a, &s.outputs, out, dims...)
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
	bind(a, &s.outputs, src, dims...)
	return out
}
