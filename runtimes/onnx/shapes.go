package onnx

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// maxShapes bounds how many batch shapes keep their buffers.
const maxShapes = 32

// shapes are the buffers of the batch sizes in use. What is V wide is shared by all of them.
type shapes struct {
	all     map[[2]int]*shape
	current *shape
	wide    capi.Memory
	gumbel  []float64 // [B, L, V] of the largest batch so far
	logits  []float32 // likewise; in the memory given by Options.LogitsMemory, if there is one
}

// shape is the memory of one batch size: what the caller fills, what the session reads and writes, and what the caller
// gets. These are the same memory unless the model has fixed dimensions or other integer types.
type shape struct {
	b, l           int // as asked for
	rows, length   int // as run
	batch          sampling.Batch
	stats          sampling.Statistics
	logits         []float32 // [B, L, V] with HeadGo
	inputs         []ort.Value
	outputs        []ort.Value
	feeds, fetches []func() // copies before and after a run
	memory         capi.Memory
}

func (s *shapes) get(d *Denoiser, b, l int) (*shape, error) {
	key := [2]int{b, l}
	if have := s.all[key]; have != nil {
		s.current = have
		return have, nil
	}
	if len(s.all) >= maxShapes {
		s.forget()
	}
	if err := s.widen(d, b, l); err != nil {
		return nil, err
	}
	made, err := s.build(d, b, l)
	if err != nil {
		made.free()
		return nil, err
	}
	if s.all == nil {
		s.all = map[[2]int]*shape{}
	}
	s.all[key], s.current = made, made
	return made, nil
}

// widen makes sure that the shared buffers hold a batch. Growing them ends the shapes that use the old ones.
func (s *shapes) widen(d *Denoiser, b, l int) (err error) {
	p, n := d.ports, b*l*d.model.V
	if run := max(b, p.rows) * max(l, p.length) * d.model.V; d.head.spec.Draw == sampling.DrawGumbel && len(s.gumbel) < n {
		s.forget()
		if s.gumbel, err = capi.Alloc[float64](&s.wide, max(n, min(run, 2*len(s.gumbel)))); err != nil {
			return err
		}
	}
	if !d.head.spec.Needs.Logits && d.head.mode != HeadGo || len(s.logits) >= n {
		return nil
	}
	s.forget()
	if give := d.options.LogitsMemory; give != nil && d.head.spec.Needs.Logits {
		if s.logits, err = give(4 * n); err != nil {
			return fmt.Errorf("memory for logits: %w", err)
		}
		if len(s.logits) < n {
			return fmt.Errorf("memory for logits: %d numbers given, %d asked for", len(s.logits), n)
		}
		return nil
	}
	s.logits, err = capi.Alloc[float32](&s.wide, n)
	return err
}

// forget frees the shapes and keeps the shared buffers.
func (s *shapes) forget() {
	for _, one := range s.all {
		one.free()
	}
	clear(s.all)
	s.current = nil
}

func (s *shapes) free() {
	s.forget()
	s.wide.Free()
	s.gumbel, s.logits = nil, nil
}

func (s *shape) free() {
	for _, v := range append(s.inputs, s.outputs...) {
		_ = v.Destroy()
	}
	s.memory.Free()
	s.inputs, s.outputs, s.feeds, s.fetches = nil, nil, nil, nil
}

func (s *shape) padded() bool { return s.b != s.rows || s.l != s.length }

// build allocates and binds a shape. The shape is returned with an error, too, to be freed.
func (all *shapes) build(d *Denoiser, b, l int) (*shape, error) {
	s := &shape{b: b, l: l, rows: max(b, d.ports.rows), length: max(l, d.ports.length)}
	n, v, h := b*l, d.model.V, d.head
	var a allocation
	s.batch = sampling.Batch{B: b, L: l, Tokens: alloc[int64](&a, s, n), Attention: alloc[int64](&a, s, n), Active: alloc[uint8](&a, s, n),
		Params: alloc[sampling.Params](&a, s, b), Uniform: alloc[float64](&a, s, n)}
	if d.ports.time {
		s.batch.Time = alloc[float32](&a, s, b)
	}
	if h.spec.Draw == sampling.DrawGumbel {
		s.batch.Gumbel = all.gumbel[:n*v]
	}
	for _, p := range d.ports.inputs {
		feedPort(&a, s, p, int64(d.model.PadID))
	}
	for _, name := range h.inputs {
		switch name {
		case inActive:
			feed(&a, s, s.batch.Active, 1, 0, s.rows, s.length)
		case inParams:
			feedParams(&a, s)
		case inUniform:
			feed(&a, s, s.batch.Uniform, 1, 0, s.rows, s.length)
		case inGumbel:
			feed(&a, s, s.batch.Gumbel, v, 0, s.rows, s.length, v)
		}
	}
	s.stats = sampling.Statistics{B: b, L: l}
	for _, name := range h.outputs {
		k := h.spec.Needs.TopK
		switch name {
		case outStats:
			s.lay(h.rows, fetch[float32](&a, s, nil, h.rows.count, 1, h.rows.count, s.rows, s.length))
		case outToken:
			s.stats.Proposal = fetch[int32](&a, s, nil, 1, 1, s.rows, s.length)
		case outTopIDs:
			s.stats.TopIDs = fetch[int32](&a, s, nil, 1, k, s.rows, s.length, k)
		case outTopLogp:
			s.stats.TopLogp = fetch[float32](&a, s, nil, 1, k, s.rows, s.length, k)
		default:
			s.logits = fetch(&a, s, all.logits[:n*v], 1, v, s.rows, s.length, v)
			if h.mode != HeadGo {
				s.stats.Logits = s.logits
			}
		}
	}
	return s, a.err
}

// lay points the statistics at the rows of the packed output.
func (s *shape) lay(r rows, packed []float32) {
	n := s.b * s.l
	part := func(at, count int) []float32 {
		if at < 0 || packed == nil {
			return nil
		}
		return packed[at*n : (at+count)*n : (at+count)*n]
	}
	st := &s.stats
	st.P1, st.P2, st.Entropy, st.LogpCurrent, st.LogpProposal = part(r.p1, 1), part(r.p2, 1), part(r.entropy, 1), part(r.current, 1), part(r.proposal, 1)
	if r.dot >= 0 {
		st.VocabDot = part(r.dot, r.count-r.dot)
	}
}

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

// feed binds src [b, l, width] as an input of dims, through a padded copy where the model's dimensions are fixed.
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
		for i := range s.b {
			copy(dst[i*to:], src[i*from:(i+1)*from])
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
			s.feeds = append(s.feeds, func() { copy(time, s.batch.Time) })
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
		for i, x := range src {
			dst[i/s.l*s.length+i%s.l] = T(x)
		}
	})
	bind(a, &s.inputs, dst, s.rows, s.length)
}

// feedParams lays the rows' parameters out as [B, 4] float32; padding rows are greedy.
func feedParams(a *allocation, s *shape) {
	dst := alloc[float32](a, s, 4*s.rows)
	s.feeds = append(s.feeds, func() {
		for i, p := range s.batch.Params {
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
