package insertion

import "math"

// The states of a position of the clean string, in the order in which it passes through them.
const (
	Dropped = iota
	Masked
	Clean
	Padding
)

// StateLogProbabilities are log P(dropped), log P(masked) and log P(clean) of a position with the speeds bIn and bUm at the clock u
// (LoFlexMDM, proposition 1 with Kumaraswamy schedules):
//
//	P(dropped) = exp(-b_in u),  P(masked) = b_in (exp(-b_um u) - exp(-b_in u)) / (b_in - b_um),
//
// with the limit b_in u exp(-b_in u) of equal speeds, and P(clean) without cancellation for small u.
func StateLogProbabilities(u, bIn, bUm float64) (dropped, masked, clean float64) {
	dropped = -bIn * u
	masked = math.Log(bIn) - min(bIn, bUm)*u + math.Log(u) + logMeanExp(math.Abs(bIn-bUm)*u)
	sum, product := bIn+bUm, bIn*bUm
	if sum*u < 1e-2 { // the series of the two-stage exponential
		return dropped, masked, math.Log(product * u * u / 2 * (1 - sum*u/3 + (sum*sum-product)*u*u/12))
	}
	return dropped, masked, math.Log(max(1-math.Exp(dropped)-math.Exp(masked), 1e-300))
}

// logMeanExp is log((1 - exp(-y)) / y) for y >= 0, the log of the mean of exp(-x) over [0, y].
func logMeanExp(y float64) float64 {
	if y < 1e-4 {
		return -y/2 + y*y/24
	}
	return math.Log(-math.Expm1(-y)) - math.Log(y)
}
