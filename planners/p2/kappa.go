package p2

import (
	"fmt"
	"math"
)

// schedule says how the masks of a row dwindle (section 3.1 of the sheet p2.md).
type schedule struct {
	kappa  func(t float64) float64 // fraction unmasked at progress t; does not fall, and runs from 0 to 1
	linear bool                    // kappa(t) = t, for which counts are integer expressions
	least  int                     // masked positions that stay until the end
}

// scheduleOf returns the schedule of that name. Cosine keeps one position masked until the end, as MaskGIT does.
func scheduleOf(name string) (s schedule, err error) {
	switch name {
	case "linear":
		s.kappa, s.linear = func(t float64) float64 { return t }, true
	case "cosine":
		s.kappa, s.least = func(t float64) float64 { return 1 - math.Cos(math.Pi/2*t) }, 1
	case "sine":
		s.kappa = func(t float64) float64 { return math.Sin(math.Pi / 2 * t) }
	case "half_cosine":
		s.kappa = func(t float64) float64 { return (1 - math.Cos(math.Pi*t)) / 2 }
	case "quad":
		s.kappa = func(t float64) float64 { return t * t }
	case "sqrt":
		s.kappa = math.Sqrt
	case "geometric":
		s.kappa = func(t float64) float64 { return 1 - float64((1-t)*(1-t)) }
	case "log":
		s.kappa = func(t float64) float64 { return math.Log1p(t) / math.Ln2 }
	default:
		err = fmt.Errorf("kappa %q: expected one of linear, cosine, sine, half_cosine, quad, sqrt, geometric, log; set planner.kappa to one of them", name)
	}
	return s, err
}

// left returns how many of n free positions are masked after step i of total, i from 1: floor(n (1 - kappa(i/T))). The
// linear schedule is an integer expression, the others absorb rounding by 1e-6, and none is left at the end.
func (s schedule) left(n, i, total int) int {
	switch {
	case i >= total:
		return 0
	case s.linear:
		return n * (total - i) / total
	}
	left := int(math.Floor(float64(float64(n)*(1-s.kappa(float64(i)/float64(total)))) + 1e-6))
	return min(max(left, s.least), n)
}

// anneal returns the factor of the selection's noise in step i of total, i from 1.
func (s schedule) anneal(how string, i, total int) float64 {
	t := min(float64(i)/float64(total), 1)
	switch how {
	case "linear":
		return 1 - t
	case "kappa":
		return 1 - s.kappa(t)
	}
	return 1
}
