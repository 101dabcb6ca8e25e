package evaluate_test

import (
	"math"
	"testing"

	"github.com/mdmhost/mdmhost/framework/evaluate"
)

// Resampled sums of n differences in {0, 1} are binomial, whose distribution function is known: with R resamples the share
// below each end of the interval misses 1/40 by more than 6 sqrt(1/40 39/40 / R) in at most one case in 10^8.
func TestBootstrapOfCoins(t *testing.T) {
	const n, ones, resamples = 200, 60, 20000
	x := make([]float64, n)
	for i := range ones {
		x[i] = 1
	}
	i := evaluate.Bootstrap(x, resamples, 7)
	below := func(sum float64) (p float64) { // P(Binomial(n, ones/n) < sum)
		q := float64(ones) / n
		for k := 0.0; k < sum; k++ {
			a, _ := math.Lgamma(n + 1)
			b, _ := math.Lgamma(k + 1)
			c, _ := math.Lgamma(n - k + 1)
			p += math.Exp(a - b - c + k*math.Log(q) + (n-k)*math.Log(1-q))
		}
		return p
	}
	slack := 6 * math.Sqrt(1.0/40*39/40/resamples)
	low, high := math.Round(i.Low*n), math.Round(i.High*n)
	if below(low) > 1.0/40+slack || below(low+1) < 1.0/40-slack || below(high) > 39.0/40+slack || below(high+1) < 39.0/40-slack {
		t.Errorf("interval [%v, %v] of sums: P(below) %.4f to %.4f and %.4f to %.4f, expected 0.025 and 0.975 in between", low, high, below(low), below(low+1), below(high), below(high+1))
	}
	if again := evaluate.Bootstrap(x, resamples, 7); again != i {
		t.Errorf("the same seed gives %v and %v", i, again)
	}
}

func TestBootstrapOfOneValue(t *testing.T) {
	if i := evaluate.Bootstrap([]float64{-0.5, -0.5, -0.5}, 2000, 1); i != (evaluate.Interval{Low: -0.5, High: -0.5}) {
		t.Errorf("equal differences give %v", i)
	}
	if i := evaluate.Bootstrap(nil, 2000, 1); i != (evaluate.Interval{}) {
		t.Errorf("no differences give %v", i)
	}
}
