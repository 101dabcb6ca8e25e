package evaluate

import (
	"math/rand/v2"
	"slices"
)

// Interval is a range that holds a number with some confidence.
type Interval struct{ Low, High float64 }

// Bootstrap is the 95 % percentile interval of the mean of x over resamples of its entries (Efron and Tibshirani 1993, "An
// Introduction to the Bootstrap", chapter 13), deterministic given the seed. For paired observations x are the differences,
// so that both sides are resampled together. Without entries it is [0, 0].
func Bootstrap(x []float64, resamples int, seed uint64) Interval {
	if len(x) == 0 || resamples < 1 {
		return Interval{}
	}
	rng, means := rand.New(rand.NewPCG(seed, 0)), make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range x {
			sum += x[rng.IntN(len(x))]
		}
		means[i] = sum / float64(len(x))
	}
	slices.Sort(means)
	cut := resamples / 40
	return Interval{means[cut], means[resamples-1-cut]}
}
