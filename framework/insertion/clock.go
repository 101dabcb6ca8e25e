// Package insertion holds the quantities of insertion-based masked diffusion (FlexMDM, LoFlexMDM) under the papers' names. Time t runs
// from 0, the empty string, to 1, the data. Every position of a clean string is dropped, then masked, then clean; with the speeds b_in
// and b_um of a position both waits are exponential in one common clock (methods/loflexmdm.md, section 4.2).
package insertion

import "math"

// Clock is U(t) = -log(1 - t^a), in which the hazards of all events are constant: b_in while dropped, b_um while masked.
func Clock(t, a float64) float64 { return -math.Log1p(-math.Pow(t, a)) }

// ClockInverse is the time t at which the clock shows u.
func ClockInverse(u, a float64) float64 { return math.Pow(-math.Expm1(-u), 1/a) }

// Left is 1 - t at the clock u: the time as samplers count it, without the cancellation near t = 1.
func Left(u, a float64) float64 {
	if a == 1 {
		return math.Exp(-u)
	}
	return -math.Expm1(math.Log(-math.Expm1(-u)) / a)
}

// Hazard is h(t) = dU/dt = a t^(a-1) / (1 - t^a), the hazard of an event of speed 1. It is +Inf at t = 1, and at t = 0 where a < 1.
func Hazard(t, a float64) float64 {
	if a == 1 {
		return 1 / (1 - t)
	}
	return a * math.Pow(t, a-1) / -math.Expm1(a*math.Log1p(t-1))
}
