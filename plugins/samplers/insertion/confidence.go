package insertion

import (
	"cmp"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// choose returns the count masks with the highest score, of equal ones the first, in ascending order.
func (e *events) choose(r *sampling.Row, count int, into []int32) []int32 {
	masks := e.masks
	if e.Window {
		masks = masks[:min(5*count, 32, len(masks))]
	}
	e.scores = slices.Grow(e.scores[:0], len(r.Flags))[:len(r.Flags)]
	for _, i := range masks {
		e.scores[i] = e.score(r, int(i))
	}
	into = append(into, masks...)
	slices.SortStableFunc(into, func(a, b int32) int { return cmp.Compare(e.scores[b], e.scores[a]) })
	into = into[:min(count, len(into))]
	slices.Sort(into)
	return into
}

func (e *events) score(r *sampling.Row, i int) float64 {
	switch e.Confidence {
	case "top_prob":
		return float64(r.P1[i])
	case "prob_diff":
		return float64(r.P1[i]) - float64(r.P2[i])
	case "entropy":
		return -float64(r.Entropy[i])
	case "rates":
		return unmaskRate(r, i)
	default: // top_rate
		return unmaskRate(r, i) * float64(r.P1[i])
	}
}
