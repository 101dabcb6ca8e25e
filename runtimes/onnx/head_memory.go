package onnx

import (
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// What a head keeps between passes. The fused kernel and the head in Go keep it themselves, by slot. The graph's head has it as
// outputs, which the rows' next pass gets as inputs: the log-probabilities for kl_prev, and the credits, each [B, L, V].
const (
	inAttention  = "mdm/attention"  // int64 [B, L]
	inSlots      = "mdm/slots"      // int32 [B]; -1 keeps nothing
	inFresh      = "mdm/fresh"      // uint8 [B]
	inBefore     = "mdm/before"     // float32 [B, L, V]
	inCredit     = "mdm/credit"     // float32 [B, L, V]
	outNow       = "mdm/now"        // float32 [B, L, V]
	outCreditNow = "mdm/credit_now" // float32 [B, L, V]
)

// memory is what the graph's head knows of the rows, by slot, and the tensors that carry it in and out.
type memory struct {
	slots  map[int32]*slotMemory
	wide   [4][]float32 // before, credit, now, credit now: [B, L, V] of the largest batch so far
	blocks capi.Memory
}

// slotMemory is what is kept of one slot.
type slotMemory struct {
	known []bool       // [L] the position was active, and its logits sound, at the slot's pass before
	kept  [2][]float32 // [L, V] each: log-probabilities, credits
}

// carries tells whether the head remembers log-probabilities and credits.
func (h *head) carries() [2]bool { return [2]bool{h.spec.Needs.KLPrev, h.spec.Edits.Credit.Alpha != 0} }

// remembers tells whether the head keeps anything.
func (h *head) remembers() bool { c := h.carries(); return c[0] || c[1] }

// memoryPorts are the inputs and outputs of the head's memory.
func (h *head) memoryPorts() (in, out []string) {
	switch {
	case h.mode == HeadFused && h.remembers():
		in = []string{inSlots, inFresh}
	case h.mode == HeadGraph:
		for i, is := range h.carries() {
			if is {
				in, out = append(in, []string{inBefore, inCredit}[i]), append(out, []string{outNow, outCreditNow}[i])
			}
		}
	}
	return in, out
}

// fits tells whether the tensors hold n numbers each.
func (m *memory) fits(h *head, n int) bool {
	c := h.carries()
	return !(c[0] && len(m.wide[0]) < n || c[1] && len(m.wide[1]) < n)
}

// widen makes the tensors hold n numbers each. Values over the old ones must be gone.
func (m *memory) widen(h *head, n int) (err error) {
	m.blocks.Free()
	m.wide = [4][]float32{}
	for i, is := range h.carries() {
		for _, j := range []int{i, i + 2} {
			if is && err == nil {
				m.wide[j], err = capi.Alloc[float32](&m.blocks, n)
			}
		}
	}
	return err
}

// slot returns the memory of a row, ready for a pass of length positions.
func (m *memory) slot(h *head, at int32, fresh bool, length, v int) *slotMemory {
	s := m.slots[at]
	if s == nil {
		if m.slots == nil {
			m.slots = map[int32]*slotMemory{}
		}
		s = &slotMemory{}
		m.slots[at] = s
	}
	if fresh {
		clear(s.known)
	}
	if have := len(s.known); have < length {
		s.known = append(s.known, make([]bool, length-have)...)
		for i, is := range h.carries() {
			if is {
				s.kept[i] = append(s.kept[i], make([]float32, (length-have)*v)...)
			}
		}
	}
	return s
}

// feedMemory binds one of the head's inputs that memory needs.
func (h *head) feedMemory(a *allocation, all *shapes, s *shape, name string, v int) {
	switch name {
	case inAttention:
		feed(a, s, s.batch.Attention, 1, 0, s.rows, s.length)
	case inFresh:
		fresh := alloc[uint8](a, s, s.rows)
		s.feeds = append(s.feeds, func() { copy(fresh, s.batch.Fresh) })
		bind(a, &s.inputs, fresh, s.rows)
	case inSlots:
		slots := alloc[int32](a, s, s.rows)
		for i := range slots {
			slots[i] = -1 // rows beyond the batch repeat one of it, whose memory must not see them
		}
		s.feeds = append(s.feeds, func() { copy(slots, s.batch.Slots) })
		bind(a, &s.inputs, slots, s.rows)
	case inBefore, inCredit:
		i := slices.Index([]string{inBefore, inCredit}, name)
		to := all.memory.wide[i]
		s.feeds = append(s.feeds, func() { all.memory.recall(h, s, i, to, v) })
		bind(a, &s.inputs, to[:s.rows*s.length*v], s.rows, s.length, v)
	}
}

// fetchMemory binds one of the outputs of the graph's memory.
func (h *head) fetchMemory(a *allocation, all *shapes, s *shape, name string, v int) {
	i := slices.Index([]string{outNow, outCreditNow}, name)
	from := all.memory.wide[i+2]
	_, out := h.memoryPorts()
	s.fetches = append(s.fetches, func() {
		all.memory.keep(s, i, from, v)
		if name == out[len(out)-1] {
			all.memory.learn(s)
		}
	})
	bind(a, &s.outputs, from[:s.rows*s.length*v], s.rows, s.length, v)
}

// recall copies what is kept of the rows into the tensor; credits that are forgotten are zeros.
func (m *memory) recall(h *head, s *shape, kind int, to []float32, v int) {
	for b := range s.b {
		one := m.slot(h, s.batch.Slots[b], s.batch.Fresh[b] != 0, s.l, v)
		row := to[b*s.length*v:]
		copy(row[:s.l*v], one.kept[kind])
		for l, known := range one.known[:s.l] {
			if kind == 1 && !known {
				clear(row[l*v : (l+1)*v])
			}
		}
	}
}

// keep copies the tensor to where the rows' next pass finds it.
func (m *memory) keep(s *shape, kind int, from []float32, v int) {
	for b := range s.b {
		copy(m.slots[s.batch.Slots[b]].kept[kind], from[b*s.length*v:][:s.l*v])
	}
}

// learn sets kl_prev to +Inf where nothing was known, and says what is known now.
func (m *memory) learn(s *shape) {
	for b := range s.b {
		known := m.slots[s.batch.Slots[b]].known
		for l := range s.l {
			i := b*s.l + l
			sound := s.batch.Active[i] != 0 && s.stats.Proposal[i] >= 0
			if sound && s.stats.KLPrev != nil && !known[l] {
				s.stats.KLPrev[i] = float32(math.Inf(1))
			}
			known[l] = sound
		}
		clear(known[s.l:])
	}
}
