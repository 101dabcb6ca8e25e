package forward

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// maxPasses bounds how many sizes of batches keep their buffers.
const maxPasses = 32

// passes are the passes of the sizes in use. What is V wide is shared by all of them.
type passes struct {
	all     map[[2]int]*Pass
	current *Pass

	gumbel                     []float64 // [B, L, V] of the largest batch so far
	logits                     []float32 // likewise; in the memory given by Options.LogitsMemory, if there is one
	gumbelMemory, logitsMemory offheap.Memory
	memory                     memory          // of the graph's head
	plain                      sampling.Memory // of the head in Go
}

func (s *passes) get(p *Plan, b, l int) (*Pass, error) {
	key := [2]int{b, l}
	if have := s.all[key]; have != nil {
		s.current = have
		return have, nil
	}
	if len(s.all) >= maxPasses {
		s.forget()
	}
	if err := s.widen(p, b, l); err != nil {
		return nil, err
	}
	made, err := s.build(p, b, l)
	if err != nil {
		made.free()
		return nil, err
	}
	if s.all == nil {
		s.all = map[[2]int]*Pass{}
	}
	s.all[key], s.current = made, made
	return made, nil
}

// widen makes sure that the shared buffers hold a batch. Growing one ends the passes that use the old one.
func (s *passes) widen(p *Plan, b, l int) (err error) {
	n, h := b*l*p.model.V, p.head
	if h.spec.Draw == sampling.DrawGumbel && len(s.gumbel) < n {
		s.forget()
		s.gumbel = nil
		s.gumbelMemory.Free()
		if s.gumbel, err = offheap.Alloc[float64](&s.gumbelMemory, n); err != nil {
			return err
		}
	}
	if wide := max(b, p.stem.batchRows()) * max(l, p.ports.Length) * p.model.V; h.mode == HeadGraph && h.remembers() && s.memory.capacity < wide {
		s.forget()
		if err := s.memory.widen(h, wide, p.model.V); err != nil {
			return err
		}
	}
	if !h.spec.Needs.Logits && h.mode != HeadGo || len(s.logits) >= n {
		return nil
	}
	s.forget()
	s.logits = nil
	s.logitsMemory.Free()
	give := p.options.LogitsMemory
	if give == nil || !h.spec.Needs.Logits {
		s.logits, err = offheap.Alloc[float32](&s.logitsMemory, n)
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

// forget frees the passes and keeps the shared buffers.
func (s *passes) forget() {
	for _, one := range s.all {
		one.free()
	}
	clear(s.all)
	s.current = nil
}

func (s *passes) free() {
	s.forget()
	s.gumbel, s.logits = nil, nil
	s.gumbelMemory.Free()
	s.logitsMemory.Free()
	s.memory.free()
	s.plain = sampling.Memory{}
}

// build allocates and binds a pass. It is returned with an error, too, to be freed.
func (all *passes) build(p *Plan, b, l int) (*Pass, error) {
	s := &Pass{plan: p, memory: offheap.Memory{From: p.options.Host}, b: b, l: l, rows: max(b, p.stem.batchRows()), length: max(l, p.ports.Length), passes: p.stem.passes(), copies: p.stem.copies()}
	s.modelRows = max(s.passes*s.rows, p.ports.Rows)
	n, v, h := b*l, p.model.V, p.head
	var a allocation
	s.Batch = sampling.Batch{B: b, L: l, Tokens: alloc[int64](&a, s, n), Attention: alloc[int64](&a, s, n), Active: alloc[uint8](&a, s, n),
		Params: alloc[sampling.Params](&a, s, b), Slots: alloc[int32](&a, s, b), Fresh: alloc[uint8](&a, s, b), Uniform: alloc[float64](&a, s, n)}
	if p.ports.time {
		s.Batch.Time = alloc[float32](&a, s, b)
	}
	if h.spec.Draw == sampling.DrawGumbel {
		s.Batch.Gumbel = all.gumbel[:n*v]
	}
	if s.passes > 1 {
		s.Batch.Unconditional = alloc[int64](&a, s, n)
	}
	for _, in := range p.ports.inputs {
		feedPort(&a, s, in, p.model)
	}
	for _, name := range h.inputs {
		switch name {
		case inActive:
			feed(&a, s, s.Batch.Active, 1, 0, s.rows, s.length)
		case inParams:
			feedParams(&a, s)
		case inUniform:
			feed(&a, s, s.Batch.Uniform, 1, 0, s.rows, s.length)
		case inGumbel:
			feed(&a, s, s.Batch.Gumbel, v, 0, s.rows, s.length, v)
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
	if a.err == nil {
		s.unbind, a.err = p.options.Bind(s)
	}
	return s, a.err
}
