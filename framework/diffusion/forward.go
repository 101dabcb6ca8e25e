package diffusion

import "math"

// ForwardSample draws x_t ~ q(x_t | x_0) of one sequence (the paper's forward_sample): xt, x0, uniform and free are [N]. A
// token becomes the mask where its uniform lies below u, which is U(t); where free is given, only at its positions. xt may
// be x0.
func ForwardSample(xt, x0 []int64, uniform []float32, free []bool, u float64, mask int64) {
	for n, x := range x0 {
		if float64(uniform[n]) < u && (free == nil || free[n]) {
			x = mask
		}
		xt[n] = x
	}
}

// ExactCountSample masks exactly k free tokens of one sequence, those of the lowest ranks (PAPL algorithm 1, lines 3 and 4):
// xt, x0, rank (a permutation) and free (nil: all) are [N]. xt may be x0.
func ExactCountSample(xt, x0, rank []int64, free []bool, k int, mask int64) {
	copy(xt, x0)
	at := make([]int, len(rank)) // position of each rank
	for n, r := range rank {
		at[r] = n
	}
	for _, n := range at {
		if k == 0 {
			return
		}
		if free == nil || free[n] {
			xt[n] = mask
			k--
		}
	}
}

// MaskedCE is the masked cross-entropy of one sequence in nats, the sum of -log mu[n, x0[n]] over its masked positions; logp
// holds log mu[n, x0[n]], [N]. Times a weight of time it is one sample of the bound.
func MaskedCE(logp []float64, masked []bool) float64 {
	ce := 0.0
	for n, m := range masked {
		if m {
			ce -= logp[n]
		}
	}
	return ce
}

// BitsPerToken is a bound in nats per sequence of n tokens as bits per token (character, dimension).
func BitsPerToken(nats float64, n int) float64 { return nats / (float64(n) * math.Ln2) }

// Perplexity is exp(nats / n) of the mean bound in nats per sequence of n tokens.
func Perplexity(nats float64, n int) float64 { return math.Exp(nats / float64(n)) }
