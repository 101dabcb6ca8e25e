package onnx

import (
	"fmt"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// maxShapes bounds how many batch shapes keep their buffers.
const maxShapes = 32

// shapes are the buffers of the batch sizes in use. What is V wide is shared by all of them.
type shapes struct {
	all     map[[2]int]*shape
	current *shape

	gumbel                     []float64 // [B, L, V] of the largest batch so far
	logits                     []float32 // likewise; in the memory given by Options.LogitsMemory, if there is one
	gumbelMemory, logitsMemory capi.Memory
	memory                     memory          // of the graph's head
	plain                      sampling.Memory // of the head in Go
}

// shape is the memory of one batch size: what the caller fills, what the session reads and writes, and what the caller
// gets. These are the same memory unless the model has fixed dimensions or other integer types.
type shape struct {
	b, l           int // as asked for
	rows, length   int // as the head has it
	passes, copies int // of each row in what the model runs, and of its length there (see stem)
	modelRows      int // rows that the model runs
	batch          sampling.Batch
	stats          sampling.Statistics
	logits         []float32 // [B, L, V] with HeadGo
	inputs         []ort.Value
	outputs        []ort.Value
	in, out        []unsafe.Pointer // the same, as the C API has them
	feeds, fetches []func()         // copies before and after a run
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

// widen makes sure that the shared buffers hold a batch. Growing one ends the shapes that use the old one.
func (s *shapes) widen(d *Denoiser, b, l int) (err error) {
	n, h := b*l*d.model.V, d.head
	if h.spec.Draw == sampling.DrawGumbel && len(s.gumbel) < n {
		s.forget()
		s.gumbel = nil
		s.gumbelMemory.Free()
		if s.gumbel, err = capi.Alloc[float64](&s.gumbelMemory, n); err != nil {
			return err
		}
	}
	if wide := max(b, d.stem.batchRows()) * max(l, d.ports.length) * d.model.V; h.mode == HeadGraph && !s.memory.fits(h, wide) {
		s.forget()
		if err := s.memory.widen(h, wide); err != nil {
			return err
		}
	}
	if !h.spec.Needs.Logits && h.mode != HeadGo || len(s.logits) >= n {
		return nil
	}
	s.forget()
	s.logits = nil
	s.logitsMemory.Free()
	give := d.options.LogitsMemory
	if give == nil || !h.spec.Needs.Logits {
		s.logits, err = capi.Alloc[float32](&s.logitsMemory, n)
		return err
	}
	given, err := give(4 * n)
	if err != nil {
		return fmt.Errorf("memory for logits: %w", err)
	}
	if len(given) < n {
		return fmt.Errorf("memory for logits: %d numbers given, %d asked for", len(given), n)
	}
	s.logits = given
	return nil
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
	s.gumbel, s.logits = nil, nil
	s.gumbelMemory.Free()
	s.logitsMemory.Free()
	s.memory.blocks.Free()
	s.memory, s.plain = memory{}, sampling.Memory{}
}

func (s *shape) free() {
	for _, v := range append(s.inputs, s.outputs...) {
		_ = v.Destroy()
	}
	s.memory.Free()
	s.inputs, s.outputs, s.in, s.out, s.feeds, s.fetches = nil, nil, nil, nil, nil, nil
}

func (s *shape) padded() bool { return s.b != s.rows || s.l != s.length }

// build allocates and binds a shape. The shape is returned with an error, too, to be freed.
func (all *shapes) build(d *Denoiser, b, l int) (*shape, error) {
	s := &shape{b: b, l: l, rows: max(b, d.stem.batchRows()), length: max(l, d.ports.length), passes: d.stem.passes(), copies: d.stem.copies()}
	s.modelRows = max(s.passes*s.rows, d.ports.rows)
	n, v, h := b*l, d.model.V, d.head
	var a allocation
	s.batch = sampling.Batch{B: b, L: l, Tokens: alloc[int64](&a, s, n), Attention: alloc[int64](&a, s, n), Active: alloc[uint8](&a, s, n),
		Params: alloc[sampling.Params](&a, s, b), Slots: alloc[int32](&a, s, b), Fresh: alloc[uint8](&a, s, b), Uniform: alloc[float64](&a, s, n)}
	if d.ports.time {
		s.batch.Time = alloc[float32](&a, s, b)
	}
	if h.spec.Draw == sampling.DrawGumbel {
		s.batch.Gumbel = all.gumbel[:n*v]
	}
	if s.passes > 1 {
		s.batch.Unconditional = alloc[int64](&a, s, n)
	}
	for _, p := range d.ports.inputs {
		feedPort(&a, s, p, &d.model)
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
		default:
			h.feedMemory(&a, all, s, name, v)
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
		case outNow, outCreditNow:
			h.fetchMemory(&a, all, s, name, v)
		case outAlone:
			s.stats.LogpLeaveOneOut = fetch[float32](&a, s, nil, 1, 1, s.rows, s.length)
		case insertionRate, insertionRate32:
			s.stats.InsertionRate = fetchGaps(&a, s)
		case unmaskRate, unmaskRate32:
			s.stats.UnmaskRate = fetch[float32](&a, s, nil, 1, 1, s.rows, s.length)
		default:
			s.logits = fetch(&a, s, all.logits[:n*v], 1, v, s.rows, s.length, v)
			if h.mode != HeadGo {
				s.stats.Logits = s.logits
			}
		}
	}
	s.in, s.out = rawValues(s.inputs), rawValues(s.outputs)
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
	st.KLPrev = part(r.kl, 1)
	if r.dot >= 0 {
		st.VocabDot = part(r.dot, r.count-r.dot)
	}
}
