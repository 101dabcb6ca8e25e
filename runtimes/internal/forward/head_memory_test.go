package forward

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// scarce is a place that may run out of memory.
type scarce struct {
	offheap.Host
	out func() bool
}

func (s *scarce) Alloc(bytes int) (unsafe.Pointer, error) {
	if s.out() {
		return nil, offheap.ErrOutOfMemory
	}
	return s.Host.Alloc(bytes)
}

// TestMemoryOfSlots: whatever rows run together, at whatever lengths, and wherever memory is short in between, a pass reads what the
// slot's pass before has written.
func TestMemoryOfSlots(t *testing.T) {
	const v, slots, longest = 2, 4, 9
	rapid.Check(t, func(t *rapid.T) {
		short := false
		at := &scarce{out: func() bool { return short && rapid.Bool().Draw(t, "out of memory") }}
		h := &head{mode: HeadGraph}
		h.spec.Needs.KLPrev = true
		h.spec.Edits.Credit.Alpha = 1
		m := &memory{at: at, turns: rapid.Bool().Draw(t, "turns")}
		defer m.free()
		last := map[int32][]float32{} // by slot: the first kind's numbers, whole positions
		for number := range rapid.IntRange(1, 30).Draw(t, "passes") {
			l := rapid.IntRange(1, longest).Draw(t, "length")
			at := rapid.Permutation([]int32{0, 1, 2, 3}).Draw(t, "slots")[:rapid.IntRange(1, slots).Draw(t, "rows")]
			short = rapid.Bool().Draw(t, "short")
			s := &Pass{b: len(at), l: l, length: l}
			s.Batch = sampling.Batch{B: s.b, L: l, Slots: at, Fresh: make([]uint8, s.b), Active: make([]uint8, s.b*l)}
			s.stats.Proposal = make([]int32, s.b*l)
			for i := range s.Batch.Active {
				s.Batch.Active[i] = 1
			}
			if wide := s.b * l * v; m.capacity < wide && m.widen(h, wide, v) != nil {
				continue
			}
			if m.arrange(h, s, v) != nil {
				continue
			}
			read, write := m.turn, 1-m.turn
			if !m.turns {
				read, write = 0, 1
			}
			for b, slot := range at {
				for kind := range 2 {
					from := unsafe.Slice((*float32)(m.tensors[kind][read]), s.b*l*v)[b*l*v : (b+1)*l*v]
					for p, known := range m.slots[slot].known[:l] {
						if known != (p*v < len(last[slot])) {
							t.Fatalf("pass %d, slot %d, position %d: known is %t", number, slot, p, known)
						}
						if known && from[p*v] != last[slot][p*v]+float32(kind) {
							t.Fatalf("pass %d, slot %d, position %d, kind %d: %g is read, and %g was written", number, slot, p, kind, from[p*v], last[slot][p*v]+float32(kind))
						}
					}
				}
				wrote := make([]float32, l*v)
				for i := range wrote {
					wrote[i] = float32(1000*number + 10*b + 2*i)
				}
				for kind := range 2 {
					into := unsafe.Slice((*float32)(m.tensors[kind][write]), s.b*l*v)[b*l*v:]
					for i, x := range wrote {
						into[i] = x + float32(kind)
					}
				}
				last[slot] = wrote
			}
			if err := m.learn(h, s, v); err != nil {
				t.Fatal(err)
			}
		}
	})
}
