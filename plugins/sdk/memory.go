package sdk

// memory is what the verbs of one row write to; it is reused from row to row, so that planning does not allocate.
type memory struct {
	positions arena[int32]
	ranked    arena[ranked]
	err       error  // the first failure of the row
	asked     uint64 // rows so far, over all calls
}

func (m *memory) reset() {
	m.positions.reset()
	m.ranked.reset()
	m.err = nil
	m.asked++
}

func (m *memory) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// arena hands out slices that stay valid until reset.
type arena[T any] struct {
	chunk []T
	used  int
	want  int // what all slices since the last reset took together
}

// take returns an empty slice with room for n.
func (a *arena[T]) take(n int) []T {
	a.want += n
	if a.used+n > len(a.chunk) {
		a.chunk, a.used = make([]T, max(n, 2*a.want)), 0
	}
	s := a.chunk[a.used : a.used : a.used+n]
	a.used += n
	return s
}

func (a *arena[T]) reset() { a.used, a.want = 0, 0 }

// RowMemory keeps a value per row between the steps of a run. Make one in the build function of the planner and ask for
// the row's value with [RowMemory.Of]. A planner with memory must not be declared [Pure].
type RowMemory[T any] struct {
	slots []*kept[T] // by slot; pointers, so that what Of returned stays where it is when slots are added
}

// kept is the value of the row that has a slot.
type kept[T any] struct {
	row   int64
	mem   *memory // of the call that asked last, with the row's number in it: rows that begin anew are told apart by both
	asked uint64
	value T
}

// Of returns the row's value: zero when a row's first step asks for it first, afterwards what was left there.
func (m *RowMemory[T]) Of(r Row) *T {
	for len(m.slots) <= r.Slot {
		m.slots = append(m.slots, nil)
	}
	s := m.slots[r.Slot]
	same := s != nil && s.mem == r.mem && s.asked == r.mem.asked
	if s == nil || s.row != r.Index || r.Step == 0 && !same {
		s = &kept[T]{row: r.Index}
		m.slots[r.Slot] = s
	}
	s.mem, s.asked = r.mem, r.mem.asked
	return &s.value
}
