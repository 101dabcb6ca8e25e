package sampling

import "slices"

// Shift tells where the positions of a row are after a step that let positions leave and put masks in, in this order.
type Shift struct {
	To  []int32 // [L] the position in the row after, -1 where it left
	New []int32 // positions of the new masks in the row after, ascending
	Len int     // positions of the row after
}

// NewShift reads the two lists of a [Frame] of a row that had l positions before. Positions and gaps must lie within the row;
// counts are above 0. Gaps that are named twice grow by the sum.
func NewShift(l int, deleted []int32, inserted []Insertion) Shift {
	s := Shift{To: make([]int32, l)}
	for _, p := range deleted {
		s.To[p] = -1
	}
	grow := make(map[int]int, len(inserted)) // by gap of the row without those that left
	for _, in := range inserted {
		grow[int(in.Gap)] += int(in.Count)
	}
	gap := 0
	put := func() {
		for range grow[gap] {
			s.New = append(s.New, int32(s.Len))
			s.Len++
		}
		gap++
	}
	for p := range s.To {
		if s.To[p] < 0 {
			continue
		}
		put()
		s.To[p] = int32(s.Len)
		s.Len++
	}
	put()
	return s
}

// Shifted carries what is known of each position [L] into the row after the step; new masks get fresh.
func Shifted[T any](s Shift, before []T, fresh T) []T {
	after := slices.Repeat([]T{fresh}, s.Len)
	for p, to := range s.To {
		if to >= 0 {
			after[to] = before[p]
		}
	}
	return after
}
