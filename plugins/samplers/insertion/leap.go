package insertion

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// leap is the length in the clock of a step where left of the clock is left and moves steps may be taken, this one among them: as long
// as rate times it is at most most. It is longer where as many steps of the length most, which suits rates up to 1, would not reach the
// end, and never goes beyond it.
func leap(rate, left, most float64, moves int) float64 {
	du := left
	if rate*left > most {
		du = most / rate
	}
	if rest := float64(moves-1) * most; rest+most < left {
		du = max(du, left/float64(moves))
	} else {
		du = max(du, left-rest)
	}
	return min(du, left)
}

// fastest is the largest rate of the row's free gaps and masks.
func fastest(r *sampling.Row, free *gaps) float64 {
	rate := 0.0
	for g := range r.InsertionRate {
		rate = max(rate, free.rate(g))
	}
	for i, f := range r.Flags {
		if f&sampling.Eligible != 0 {
			rate = max(rate, unmaskRate(r, i))
		}
	}
	return rate
}
