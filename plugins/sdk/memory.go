package sdk

// memory is what the verbs of one row write to; it is reused from row to row, so that planning does not allocate.
type memory struct {
	positions arena[int32]
	ranked    arena[ranked]
	err       error // the first failure of the row
}

func (m *memory) reset() {
	m.positions.reset()
	m.ranked.reset()
	m.err = nil
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
	slots []struct {
		row   int64
		used  bool
		value T
	}
}

// Of returns the row's value: zero in a row's first step, afterwards what was left there.
func (m *RowMemory[T]) Of(r Row) *T {
	for len(m.slots) <= r.Slot {
		m.slots = append(m.slots, struct {
			row   int64
			used  bool
			value T
		}{})
	}
	s := &m.slots[r.Slot]
	if !s.used || s.row != r.Index || r.Step == 0 {
		var zero T
		s.row, s.used, s.value = r.Index, true, zero
	}
	return &s.value
}
