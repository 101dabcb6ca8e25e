package dfm

import "math"

// jumps is one step of the Euler solver of flow_matching from the written share kappa = from to another: a masked position
// jumps to its token at the rate (1 + divFree) kappa'/(1-kappa), a written one to the mask at the rate divFree kappa'/kappa,
// each with probability 1 - exp(-h rate). The token of a written position is its own target, so nothing else moves it.
func jumps(from, to, divFree float64) move {
	step := to - from // h kappa'
	m := move{open: -math.Expm1(-(1 + divFree) * step / (1 - from))}
	if from > 0 {
		m.remask = -math.Expm1(-divFree * step / from)
	}
	return m
}
