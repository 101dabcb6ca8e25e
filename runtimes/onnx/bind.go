package onnx

import (
	ort "github.com/yalue/onnxruntime_go"

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
