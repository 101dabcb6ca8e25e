package forward

import (
	"math"
	"slices"
	"unsafe"

	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// What a head keeps between passes. The fused kernel and the head in Go keep it themselves, by slot. The graph's head has it as
// outputs, which the rows' next pass gets as inputs: the log-probabilities for kl_prev, and the credits, each [B, L, V].
const (
	inAttention  = "mdm/attention"  // int64 [B, L]
	inSlots      = "mdm/slots"      // int32 [B]; -1 keeps nothing
	inFresh      = "mdm/fresh"      // uint8 [B]
	inBefore     = "mdm/before"     // float32 [B, L, V]
	inCredit     = "mdm/credit"     // float32 [B, L, V]
	inKnown      = "mdm/known"      // uint8 [B, L]; 1 = the credits are those of the row, and no leftovers
	outNow       = "mdm/now"        // float32 [B, L, V]
	outCreditNow = "mdm/credit_now" // float32 [B, L, V]
)

// Place is where a session computes: the host, or a device, whose bytes the host cannot touch.
type Place interface {
	offheap.Allocator
	Copy(dst, src unsafe.Pointer, bytes int) error // within the place
}

// memory is what the graph's head knows of the rows, by slot. It lies where the session computes: in tensors that a pass reads and the
// next one writes, by turns, and outside of them for slots that the last pass left out.
type memory struct {
	at       Place
	slots    map[int32]*slotMemory
	tensors  [2][2]unsafe.Pointer // by kind (log-probabilities, credits), float32 [B, L, V] twice
	capacity int                  // numbers in each tensor
	turns    bool                 // they may; else passes read the first and write the second
	turn     int                  // which of the two has what is known
	rows     []int32              // the slots of the last pass, by row
	stride   int                  // and its positions a row
}

// slotMemory is what is kept of one slot.
type slotMemory struct {
	known  []bool            // [L] the position was active, and its logits sound, at the slot's pass before
	row    int               // of the last pass; -1: parked, or nothing is known
	parked [2]unsafe.Pointer // float32 [L, V] each
	room   int               // numbers in each
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
		if h.carries()[1] {
			in = append(in, inKnown)
		}
	}
	return in, out
}

// widen makes the tensors hold n numbers each. Values over the old ones must be gone.
func (m *memory) widen(h *head, n, v int) error {
	for _, at := range m.rows {
		if err := m.park(h, at, v); err != nil {
			return err
		}
	}
	m.leave()
	m.capacity = 0
	for i, is := range h.carries() {
		for j := range m.tensors[i] {
			m.at.Free(m.tensors[i][j])
			m.tensors[i][j] = nil
			if !is {
				continue
			}
			var err error
			if m.tensors[i][j], err = m.at.Alloc(4 * n); err != nil {
				return err
			}
		}
	}
	m.capacity = n
	return nil
}

func (m *memory) free() {
	if m.at == nil {
		return
	}
	for _, kind := range m.tensors {
		m.at.Free(kind[0])
		m.at.Free(kind[1])
	}
	for _, s := range m.slots {
		m.at.Free(s.parked[0])
		m.at.Free(s.parked[1])
	}
	*m = memory{at: m.at, turns: m.turns}
}

// park copies what the last pass wrote of a slot out of the tensors. The slot stays one of the last pass: where memory is short, all is as
// it was before.
func (m *memory) park(h *head, at int32, v int) error {
	s, n := m.slots[at], m.stride*v
	if s.room < n {
		if err := m.give(h, s, n); err != nil {
			return err
		}
	}
	for i, is := range h.carries() {
		if !is {
			continue
		}
		if err := m.at.Copy(s.parked[i], unsafe.Add(m.tensors[i][m.turn], 4*s.row*n), 4*n); err != nil {
			return err
		}
	}
	return nil
}

// give replaces the memory in which a slot is parked by n numbers of each kind, or by none.
func (m *memory) give(h *head, s *slotMemory, n int) error {
	s.room = 0
	for i := range s.parked {
		m.at.Free(s.parked[i])
		s.parked[i] = nil
	}
	for i, is := range h.carries() {
		if !is {
			continue
		}
		given, err := m.at.Alloc(4 * n)
		if err != nil {
			return err
		}
		s.parked[i] = given
	}
	s.room = n
	return nil
}

// leave ends the last pass: what is known of its slots is what is parked.
func (m *memory) leave() {
	for _, at := range m.rows {
		m.slots[at].row = -1
	}
	m.rows = m.rows[:0]
}

// arrange puts what is known of the rows of a pass where the pass reads it.
func (m *memory) arrange(h *head, s *Pass, v int) error {
	for b, at := range s.Batch.Slots {
		one := m.slots[at]
		if one == nil {
			if m.slots == nil {
				m.slots = map[int32]*slotMemory{}
			}
			one = &slotMemory{row: -1}
			m.slots[at] = one
		}
		if s.Batch.Fresh[b] != 0 {
			clear(one.known)
		}
		if have := len(one.known); have < s.l {
			one.known = append(one.known, make([]bool, s.l-have)...)
		}
	}
	if m.stride == s.length && slices.Equal(m.rows, s.Batch.Slots) {
		return nil
	}
	for _, at := range m.rows {
		if !slices.Contains(s.Batch.Slots, at) {
			if err := m.park(h, at, v); err != nil {
				return err
			}
		}
	}
	for b, at := range s.Batch.Slots {
		one := m.slots[at]
		if !slices.Contains(one.known, true) {
			continue
		}
		for i, is := range h.carries() {
			if !is {
				continue
			}
			from, n := one.parked[i], min(one.room, s.l*v)
			if one.row >= 0 {
				from, n = unsafe.Add(m.tensors[i][m.turn], 4*one.row*m.stride*v), min(m.stride, s.l)*v
			}
			if err := m.at.Copy(unsafe.Add(m.tensors[i][1-m.turn], 4*b*s.length*v), from, 4*n); err != nil {
				return err
			}
		}
	}
	m.leave()
	m.turn, m.stride, m.rows = 1-m.turn, s.length, append(m.rows, s.Batch.Slots...)
	for b, at := range m.rows {
		m.slots[at].row = b
	}
	return m.stay(h, v)
}

// stay keeps what passes read in the first of the tensors, for runtimes whose tensors cannot take turns.
func (m *memory) stay(h *head, v int) error {
	if m.turns || m.turn == 0 {
		return nil
	}
	for i, is := range h.carries() {
		if !is {
			continue
		}
		if err := m.at.Copy(m.tensors[i][0], m.tensors[i][1], 4*len(m.rows)*m.stride*v); err != nil {
			return err
		}
	}
	m.turn = 0
	return nil
}

// feedMemory binds one of the head's inputs that memory needs.
func (h *head) feedMemory(a *allocation, all *passes, s *Pass, name string, v int) {
	switch name {
	case inAttention:
		feed(a, s, s.Batch.Attention, 1, 0, s.rows, s.length)
	case inFresh:
		fresh := alloc[uint8](a, s, s.rows)
		s.feeds = append(s.feeds, func() { copy(fresh, s.Batch.Fresh) })
		bind(a, &s.In, fresh, s.rows)
	case inSlots:
		slots := alloc[int32](a, s, s.rows)
		for i := range slots {
			slots[i] = -1 // rows beyond the batch repeat one of it, whose memory must not see them
		}
		s.feeds = append(s.feeds, func() { copy(slots, s.Batch.Slots) })
		bind(a, &s.In, slots, s.rows)
	case inBefore, inCredit:
		i := slices.Index([]string{inBefore, inCredit}, name)
		t := all.memory.tensors[i]
		bindState(a, &s.In, t[0], t[1], s.rows, s.length, v)
	case inKnown:
		known := alloc[uint8](a, s, s.rows*s.length)
		s.feeds = append(s.feeds, func() {
			for b, at := range s.Batch.Slots {
				for l, is := range all.memory.slots[at].known[:s.l] {
					known[b*s.length+l] = 0
					if is {
						known[b*s.length+l] = 1
					}
				}
			}
		})
		bind(a, &s.In, known, s.rows, s.length)
	}
}

// fetchMemory binds one of the outputs of the graph's memory.
func (h *head) fetchMemory(a *allocation, all *passes, s *Pass, name string, v int) {
	t := all.memory.tensors[slices.Index([]string{outNow, outCreditNow}, name)]
	bindState(a, &s.Out, t[1], t[0], s.rows, s.length, v)
}

// learn takes what the pass wrote as what is known. It sets kl_prev to +Inf where nothing was.
func (m *memory) learn(h *head, s *Pass, v int) error {
	m.turn = 1 - m.turn
	for b := range s.b {
		known := m.slots[s.Batch.Slots[b]].known
		for l := range s.l {
			i := b*s.l + l
			sound := s.Batch.Active[i] != 0 && s.stats.Proposal[i] >= 0
			if sound && s.stats.KLPrev != nil && !known[l] {
				s.stats.KLPrev[i] = float32(math.Inf(1))
			}
			known[l] = sound
		}
		clear(known[s.l:])
	}
	return m.stay(h, v)
}
