package sampling

import (
	"fmt"
	"math"
	"slices"
)

// Memory is what a statistics head keeps of the passes before, by slot: the logits for kl_prev and the credits of
// [Credit]. What it keeps of a position is forgotten where the row is fresh, and where the position was not active or its
// logits were a fault at the row's pass before. The zero value is empty. Memory grows to the longest row of a slot, by 4 V
// bytes a position for each of the two, and is used again by the slot's next row.
type Memory struct {
	slots []*slotMemory
}

// slotMemory is that of one slot.
type slotMemory struct {
	v      int
	known  []bool    // [L] what follows is of the pass before
	lnZ    []float64 // [L]
	logits []float32 // [L, V] edited
	credit []float32 // [L, V]
}

// slot returns the memory of row b of a batch, ready for a pass.
func (m *Memory) slot(batch *Batch, b, v int, head *Head) *slotMemory {
	at := int(batch.Slots[b])
	for at >= len(m.slots) {
		m.slots = append(m.slots, &slotMemory{})
	}
	s := m.slots[at]
	s.v = v
	if batch.Fresh[b] != 0 {
		clear(s.known)
	}
	n := batch.L
	lengthen(&s.known, n)
	if head.Needs.KLPrev {
		lengthen(&s.lnZ, n)
		lengthen(&s.logits, n*v)
	}
	if head.Edits.Credit.Alpha != 0 {
		lengthen(&s.credit, n*v)
	}
	clear(s.known[batch.L:])
	return s
}

// lengthen makes s n long at least; what is new is zero.
func lengthen[T any](s *[]T, n int) {
	if more := n - len(*s); more > 0 {
		*s = append(*s, make([]T, more)...)
	}
}

// credits returns the credits [V] of position l, zeros where they are forgotten.
func (s *slotMemory) credits(l int) []float32 {
	m := s.credit[l*s.v : (l+1)*s.v]
	if !s.known[l] {
		clear(m)
	}
	return m
}

// kl returns KL(p now || p before) of position l, whose edited logits are z [V], and remembers them. The logits'
// differences are summed, not the two entropies', so that what did not change gives 0.
func (c *computer) kl(z []float32, lnZ float64, l int) float32 {
	s := c.memory
	before, out := s.logits[l*s.v:(l+1)*s.v], math.Inf(1)
	if s.known[l] {
		sum := 0.0
		for _, run := range c.allowed {
			for v := run[0]; v < run[1]; v++ {
				if p := math.Exp(float64(z[v]) - lnZ); p > 0 {
					sum += p * (float64(z[v]) - float64(before[v]))
				}
			}
		}
		out = max(sum-(lnZ-s.lnZ[l]), 0)
	}
	copy(before, z)
	s.lnZ[l] = lnZ
	return float32(out)
}

// Remembers tells whether the head keeps something of every row between passes.
func (h *Head) Remembers() bool { return h.Needs.KLPrev || h.Edits.Credit.Alpha != 0 }

// CheckSlots holds the batch against what a memory can be keyed by: a slot and a fresh flag a row, no slot twice.
func (b *Batch) CheckSlots() error {
	if len(b.Slots) != b.B || len(b.Fresh) != b.B {
		return fmt.Errorf("statistics: %d slots and %d fresh flags for %d rows; statistics with memory need one of each a row", len(b.Slots), len(b.Fresh), b.B)
	}
	for i, s := range b.Slots {
		if s < 0 || slices.Contains(b.Slots[:i], s) {
			return fmt.Errorf("statistics: row %d lives in slot %d; statistics with memory need slots from 0 on, each named once", i, s)
		}
	}
	return nil
}
