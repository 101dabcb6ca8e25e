package engine

import "slices"

// ref is a row of an answer.
type ref struct {
	answer *Answer
	row    int
}

func (r ref) get() *row { return &r.answer.rows[r.row] }

// queue holds the rows that wait in a lane. Answers take turns, a row each, so that one with many rows does not keep others waiting.
type queue struct {
	turns []*Answer // those with rows that wait
	size  int       // rows
}

// push adds an answer's waiting rows.
func (q *queue) push(a *Answer) {
	q.turns = append(q.turns, a)
	q.size += len(a.waiting)
}

// again adds rows that have had their turn, before all others.
func (q *queue) again(refs []ref) {
	for _, r := range slices.Backward(refs) {
		r.answer.waiting = slices.Insert(r.answer.waiting, 0, r.row)
		q.turns = slices.DeleteFunc(q.turns, func(a *Answer) bool { return a == r.answer })
		q.turns = slices.Insert(q.turns, 0, r.answer)
		q.size++
	}
}

// pop takes the first row that fits; skipped tells that another one's turn was before.
func (q *queue) pop(fits func(ref) bool) (r ref, skipped, ok bool) {
	for i, a := range q.turns {
		r := ref{a, a.waiting[0]}
		if !fits(r) {
			continue
		}
		a.waiting = slices.Delete(a.waiting, 0, 1)
		q.turns = slices.Delete(q.turns, i, i+1)
		if len(a.waiting) > 0 {
			q.turns = append(q.turns, a)
		}
		q.size--
		return r, i > 0, true
	}
	return ref{}, false, false
}

// drop takes out all rows of an answer.
func (q *queue) drop(a *Answer) []ref {
	if !slices.Contains(q.turns, a) {
		return nil
	}
	q.turns = slices.DeleteFunc(q.turns, func(b *Answer) bool { return a == b })
	return q.take(a)
}

// clear takes out all rows.
func (q *queue) clear() (all []ref) {
	for _, a := range q.turns {
		all = append(all, q.take(a)...)
	}
	q.turns = nil
	return all
}

func (q *queue) take(a *Answer) (out []ref) {
	for _, i := range a.waiting {
		out = append(out, ref{a, i})
	}
	q.size -= len(a.waiting)
	a.waiting = nil
	return out
}
