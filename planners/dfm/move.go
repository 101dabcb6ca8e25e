package dfm

import "math"

// move is a step in time and what it does to a position: a masked one opens with one probability, a written one is
// masked again with the other.
type move struct{ dt, open, remask float64 }

// strength is b, what the corrector masks again per unit of time.
func strength(t float64) float64 { return 10 * math.Pow(t, 0.25) * math.Pow(1-t, 0.25) }

// corrected is the longest step from t, up to 1/n, at which the whole corrector has probabilities of at most 1.
func corrected(t float64, n int) move {
	if t >= 1 {
		return move{dt: 1 / float64(n), open: 1 / float64(n)}
	}
	b := strength(t)
	dt := min(1/float64(n), 1/((1+b)/t+b/(1-t)))
	return move{dt: dt, open: (1 + b) * dt / t, remask: b * dt / (1 - t)}
}

// within is [corrected] for a row that has so many passes left. Where its steps would not reach the end, they are those of
// an even grid over what is left, with as much of the corrector as they allow: (1+b) dt/t + b dt/(1-t) = 1.
func within(t float64, n, passes int) move {
	m := corrected(t, n)
	even := t / float64(passes)
	if m.dt >= even || t >= 1 && 1/float64(n) >= even {
		return m
	}
	if t >= 1 {
		return move{dt: even, open: even}
	}
	b := min(strength(t), (1-t)*(t/even-1))
	return move{dt: even, open: (1 + b) * even / t, remask: b * even / (1 - t)}
}

// last tells whether the step from t is the last: it opens everything.
func last(t float64, n int) bool { return t*float64(n) <= 1+1e-9 }

// fit returns the largest number of time steps whose trajectory takes at most so many passes. One and two are over before
// the corrector sets in, three take some 35; with fewer passes it is the number of passes, which within spreads evenly.
func fit(passes int) int {
	for n := passes; n > 2; n-- {
		count := 1
		for t := 1.0; !last(t, n) && count <= passes; count++ {
			t -= corrected(t, n).dt
		}
		if count <= passes {
			return n
		}
	}
	return passes
}
