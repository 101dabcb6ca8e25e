package try

import (
	"math"
	"slices"
)

// Coin is what one step does to every position, independently: a masked one opens with one probability, a written one is
// masked again with the other. Without masks a row is finished, unless it goes on.
type Coin struct {
	Open, Remask float64
	GoOn         bool
}

// Process returns the exact distribution over rows [V^L] of a sampler that starts from masks and throws the coins of one
// step after the other, tokens drawn from the exact denoiser.
func (j Joint) Process(coins []Coin) []float64 {
	at := map[string]float64{string(slices.Repeat([]byte{byte(j.V)}, j.L)): 1}
	for k, c := range coins {
		next := map[string]float64{}
		for canvas, mass := range at {
			if !slices.Contains([]byte(canvas), byte(j.V)) && (k == 0 || !coins[k-1].GoOn) {
				next[canvas] += mass
				continue
			}
			tokens := make([]int64, j.L)
			for i := range j.L {
				tokens[i] = int64(canvas[i])
			}
			conditionals := j.Conditionals(tokens)
			var spread func(i int, row []byte, m float64)
			spread = func(i int, row []byte, m float64) {
				with := func(token int, p float64) { spread(i+1, append(slices.Clone(row), byte(token)), m*p) }
				switch {
				case m == 0:
				case i == j.L:
					next[string(row)] += m
				case tokens[i] != int64(j.V):
					with(j.V, c.Remask)
					with(int(tokens[i]), 1-c.Remask)
				default:
					with(j.V, 1-c.Open)
					for v, q := range conditionals[i*j.V : (i+1)*j.V] {
						with(v, c.Open*q)
					}
				}
			}
			spread(0, nil, mass)
		}
		at = next
	}
	out := make([]float64, len(j.P))
	for canvas, mass := range at {
		out[Number(j, []byte(canvas))] += mass
	}
	return out
}

// Distance is the total variation between two distributions.
func Distance(p, q []float64) (tv float64) {
	for i := range p {
		tv += math.Abs(p[i]-q[i]) / 2
	}
	return tv
}

// ByChance is the largest total variation that n draws have from the distribution p that they come from, but for one case
// in 10^8: its mean is at most sum_i sqrt(p_i (1-p_i)/n)/2, and by McDiarmid it exceeds that by e with a probability of
// at most exp(-2 n e^2).
func ByChance(p []float64, n int) float64 {
	mean := 0.0
	for _, p := range p {
		mean += math.Sqrt(max(0, p*(1-p))/float64(n)) / 2
	}
	return mean + math.Sqrt(math.Log(1e8)/(2*float64(n)))
}
