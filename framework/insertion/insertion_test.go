package insertion_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/insertion"
)

// The three states cover everything, also where the closed forms cancel: equal, nearly equal and very unequal speeds, any clock.
func TestStatesSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Custom(func(t *rapid.T) float64 { return math.Exp(rapid.Float64Range(-4, 4).Draw(t, "log speed")) })
		bIn, bUm := speed.Draw(t, "b_in"), speed.Draw(t, "b_um")
		if rapid.Bool().Draw(t, "close") {
			bUm = bIn * (1 + rapid.SampledFrom([]float64{0, 1e-15, 1e-9, 1e-5}).Draw(t, "apart"))
		}
		u := math.Exp(rapid.Float64Range(-12, 4).Draw(t, "log u"))
		d, m, c := insertion.StateLogProbabilities(u, bIn, bUm)
		if sum := math.Exp(d) + math.Exp(m) + math.Exp(c); !near(sum, 1, 1e-7) {
			t.Fatalf("u %v, speeds %v, %v: the states have probability %v", u, bIn, bUm, sum)
		}
	})
}

// Contracting loses nothing but the dropped tokens themselves.
func TestContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.SliceOfN(rapid.IntRange(insertion.Dropped, insertion.Clean), 0, 12).Draw(t, "states")
		tokens, speeds := make([]int32, len(states)), make([]float64, len(states))
		for i := range states {
			tokens[i], speeds[i] = int32(i), float64(i+1)
		}
		c := insertion.Contract(tokens, states, speeds, -1)
		var back []int32
		next := int32(0)
		for gap, count := range c.Counts {
			sum := 0.0
			for range count {
				back, sum, next = append(back, next), sum+speeds[next], next+1
			}
			if sum != c.Speeds[gap] {
				t.Fatalf("%v: gap %d sums to %v, expected %v", states, gap, c.Speeds[gap], sum)
			}
			if gap < len(c.Tokens) {
				if token := c.Tokens[gap]; c.From[gap] != int(next) || token != next && (token != -1 || states[next] != insertion.Masked) {
					t.Fatalf("%v: slot %d holds %d of position %d, expected position %d", states, gap, token, c.From[gap], next)
				}
				back, next = append(back, next), next+1
			}
		}
		if !slices.Equal(back, tokens) {
			t.Fatalf("%v: gaps and slots make %v", states, back)
		}
	})
}

// Mean and variance over evenly spread uniforms, from means whose probabilities vanish to those that need logarithms.
func TestPoissonMoments(t *testing.T) {
	for _, lambda := range []float64{1e-3, 0.7, 20, 499, 501, 2e4} {
		const n = 20000
		mean, square, last := 0.0, 0.0, 0
		for i := range n {
			k := insertion.PoissonQuantile((float64(i)+0.5)/n, lambda, math.MaxInt)
			if k < last {
				t.Fatalf("mean %v: the quantile falls from %d to %d", lambda, last, k)
			}
			last = k
			mean += float64(k) / n
			square += float64(k) * float64(k) / n
		}
		if variance := square - mean*mean; !near(mean, lambda, 1e-3) || !near(variance, lambda, 0.02) {
			t.Errorf("mean %v: got mean %v and variance %v", lambda, mean, variance)
		}
	}
}

// No mean and no uniform keeps the quantile from ending, and the limit holds.
func TestPoissonEnds(t *testing.T) {
	for _, lambda := range []float64{math.NaN(), math.Inf(-1), -1, 0, 5e-324, 1, 700, 1e6, 1e18, 1e308, math.Inf(1)} {
		for _, q := range []float64{0, 1e-18, 0.5, 1 - 1e-16, 1} {
			got := insertion.PoissonQuantile(q, lambda, 9)
			if got < 0 || got > 9 || lambda > 100 && got != 9 || !(lambda > 0) && got != 0 {
				t.Errorf("quantile %v of mean %v, at most 9: got %d", q, lambda, got)
			}
		}
	}
}
