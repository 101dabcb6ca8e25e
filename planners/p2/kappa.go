package p2

import (
	"fmt"
	"math"
)

// schedule returns how many of n free positions are masked after step i of total, i from 1: floor(n (1 - kappa(i/T))),
// where kappa is the fraction unmasked, which does not fall and runs from 0 to 1 (section 3.1 of the sheet p2.md). The
// linear schedule is an integer expression, the others absorb rounding by 1e-6, and none is left at the end. The
// cosine schedule keeps one position masked until then, as MaskGIT does.
func schedule(name string) (func(n, i, total int) int, error) {
	var kappa func(t float64) float64
	least := 0
	switch name {
	case "linear":
		return func(n, i, total int) int { return n * max(total-i, 0) / total }, nil
	case "cosine":
		kappa, least = func(t float64) float64 { return 1 - math.Cos(math.Pi/2*t) }, 1
	case "sine":
		kappa = func(t float64) float64 { return math.Sin(math.Pi / 2 * t) }
	case "half_cosine":
		kappa = func(t float64) float64 { return (1 - math.Cos(math.Pi*t)) / 2 }
	case "quad":
		kappa = func(t float64) float64 { return t * t }
	case "sqrt":
		kappa = math.Sqrt
	case "geometric":
		kappa = func(t float64) float64 { return 1 - float64((1-t)*(1-t)) }
	case "log":
		kappa = func(t float64) float64 { return math.Log1p(t) / math.Ln2 }
	default:
		return nil, fmt.Errorf("kappa %q: expected one of linear, cosine, sine, half_cosine, quad, sqrt, geometric, log; set planner.kappa to one of them", name)
	}
	return func(n, i, total int) int {
		if i >= total {
			return 0
		}
		left := int(math.Floor(float64(float64(n)*(1-kappa(float64(i)/float64(total)))) + 1e-6))
		return min(max(left, least), n)
	}, nil
}
