package insertion

import "math"

// PoissonQuantile is the smaller of limit and the smallest k with P(N <= k) > q, N Poisson with the mean lambda: a draw from one uniform q
// in (0, 1). A mean of 0 or below gives 0, and so does NaN. It takes at most limit steps, and about 20 sqrt(lambda).
func PoissonQuantile(q, lambda float64, limit int) int {
	switch {
	case !(lambda > 0):
		return 0
	case chernoff(float64(limit), lambda) > 45: // P(N <= limit) < exp(-45), less than any q
		return limit
	}
	k := 0
	if lambda > 500 { // exp(-lambda) would vanish; below k lies less than exp(-45) by the choice of the distance
		k = int(max(lambda-math.Sqrt(90*lambda), 0))
	}
	lg, _ := math.Lgamma(float64(k) + 1)
	term := math.Exp(float64(k)*math.Log(lambda) - lambda - lg)
	for cdf := term; q >= cdf && k < limit; cdf += term {
		k++
		if term = term * lambda / float64(k); float64(k) > lambda && cdf+term == cdf { // rounding ate the gap below 1
			break
		}
	}
	return k
}

// chernoff bounds P(N <= x) by exp(-chernoff) for x below the mean: lambda - x + x log(x/lambda).
func chernoff(x, lambda float64) float64 {
	switch {
	case math.IsInf(lambda, 1):
		return lambda
	case x >= lambda:
		return 0
	case x <= 0:
		return lambda
	}
	return lambda - x + x*math.Log(x/lambda)
}
