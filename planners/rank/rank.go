// Package rank orders positions by a score without sorting more than a planner needs: ties go to the lower position, and
// NaN comes last, so that every order is total and the same everywhere.
package rank

import (
	"math"
	"slices"
)

// Item is a position with its place in the order.
type Item struct {
	key      uint64 // ascending with the score
	Position int32
}

// By returns the item of a position; smaller scores come first.
func By(score float64, position int32) Item {
	score += 0 // -0 and 0 are one score
	bits := math.Float64bits(score)
	switch {
	case score != score:
		bits = math.MaxUint64
	case bits>>63 == 1:
		bits = ^bits
	default:
		bits |= 1 << 63
	}
	return Item{bits, position}
}

func (a Item) before(b Item) bool {
	return a.key < b.key || a.key == b.key && a.Position < b.Position
}

func compare(a, b Item) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// First moves the k first items of the order to the front, in any order, and returns them. It takes linear time on
// average.
func First(items []Item, k int) []Item {
	k = min(max(k, 0), len(items))
	if k == 1 {
		for i := range items {
			if items[i].before(items[0]) {
				items[0], items[i] = items[i], items[0]
			}
		}
		return items[:1]
	}
	for lo, hi := 0, len(items); lo < k && k < hi; {
		if hi-lo <= 12 {
			slices.SortFunc(items[lo:hi], compare)
			break
		}
		if p := split(items, lo, hi); p < k {
			lo = p + 1
		} else {
			hi = p
		}
	}
	return items[:k]
}

// split partitions items[lo:hi] around the median of three of them and returns where that one ended.
func split(items []Item, lo, hi int) int {
	mid, last := lo+(hi-lo)/2, hi-1
	if items[mid].before(items[lo]) {
		items[mid], items[lo] = items[lo], items[mid]
	}
	if items[last].before(items[lo]) {
		items[last], items[lo] = items[lo], items[last]
	}
	if items[mid].before(items[last]) {
		items[mid], items[last] = items[last], items[mid]
	}
	pivot, p := items[last], lo
	for i := lo; i < last; i++ {
		if items[i].before(pivot) {
			items[i], items[p] = items[p], items[i]
			p++
		}
	}
	items[last], items[p] = items[p], items[last]
	return p
}

// Queue hands items out in order, each in logarithmic time: for planners that stop after a short prefix.
type Queue []Item

// NewQueue turns items into a queue in place, in linear time.
func NewQueue(items []Item) Queue {
	q := Queue(items)
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
	return q
}

// Pop takes the first item off the queue, which must not be empty.
func (q *Queue) Pop() Item {
	h := *q
	first := h[0]
	h[0] = h[len(h)-1]
	*q = h[:len(h)-1]
	q.sink(0)
	return first
}

func (q Queue) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if right := child + 1; right < len(q) && q[right].before(q[child]) {
			child = right
		}
		if !q[child].before(q[i]) {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
