// Package evaluate measures models: the likelihood bound, exact where a problem is small, and the metrics of tasks.
package evaluate

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// MaxExact is the most target positions that [Enumerate] takes: 2^MaxExact - 1 calls of the denoiser.
const MaxExact = 16

// Denoise returns log mu [N, m] of a sequence z [N] that holds masks: the log-probabilities of the m real tokens at every
// position. Only rows of masked positions are read.
type Denoise func(z []int64) ([][]float64, error)

// Exact holds what a time-free denoiser says of one sequence under every subset of masks. Everything that training and
// sampling estimate for this sequence follows from it by summation.
type Exact struct {
	n    int         // target positions
	logp [][]float64 // [2^n][n]: log mu of the true token at masked targets, one row for each subset M
}

// Enumerate masks every nonempty subset of the target positions of x0 [N] and asks the denoiser each time. targets nil means
// every position; others stay as they are, so the quantities become conditional on them (sheet md4, 6).
func Enumerate(x0 []int64, targets []int, mask int64, denoise Denoise) (*Exact, error) {
	if targets == nil {
		for i := range x0 {
			targets = append(targets, i)
		}
	}
	n := len(targets)
	if n > MaxExact {
		return nil, fmt.Errorf("exact enumeration: %d target positions: expected at most %d, since every subset of masks is a call; estimate the bound instead", n, MaxExact)
	}
	for j, i := range targets {
		if i < 0 || i >= len(x0) || slices.Contains(targets[:j], i) {
			return nil, fmt.Errorf("exact enumeration: target position %d: expected each of the sequence's 0 to %d at most once", i, len(x0)-1)
		}
	}
	e := &Exact{n: n, logp: make([][]float64, 1<<n)}
	z := make([]int64, len(x0))
	for M := 1; M < 1<<n; M++ {
		copy(z, x0)
		for rest := M; rest != 0; rest &= rest - 1 {
			z[targets[bits.TrailingZeros(uint(rest))]] = mask
		}
		mu, err := denoise(z)
		if err != nil {
			return nil, fmt.Errorf("exact enumeration: denoising %v: %w", z, err)
		}
		row := make([]float64, n)
		for rest := M; rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros(uint(rest))
			at := targets[j]
			if at >= len(mu) || x0[at] < 0 || x0[at] >= int64(len(mu[at])) {
				return nil, fmt.Errorf("exact enumeration: no log-probability of token %d at position %d: expected log mu [%d, m] with every token of the sequence below m", x0[at], at, len(x0))
			}
			row[j] = mu[at][x0[at]]
		}
		e.logp[M] = row
	}
	return e, nil
}

// ce is the masked cross-entropy CE(M) in nats.
func (e *Exact) ce(M int) float64 {
	ce := 0.0
	for rest := M; rest != 0; rest &= rest - 1 {
		ce -= e.logp[M][bits.TrailingZeros(uint(rest))]
	}
	return ce
}

// byCount is the mean of CE(M) over the subsets of k masks, for k = 0..n.
func (e *Exact) byCount() []float64 {
	mean := make([]float64, e.n+1)
	for M := 1; M < len(e.logp); M++ {
		k := bits.OnesCount(uint(M))
		mean[k] += e.ce(M) / choose(e.n, k)
	}
	return mean
}

// Bound is the continuous-time bound L_inf in nats (sheet md4 3.5): the sum over nonempty masks M of CE(M) / (|M| C(N, |M|)).
// It depends on no schedule, and is an upper bound of -[Exact.LogLikelihood].
func (e *Exact) Bound() float64 {
	sum := 0.0
	for k, ce := range e.byCount() {
		if k > 0 {
			sum += ce / float64(k)
		}
	}
	return sum
}

// UniformELBO is E_unif of PAPL (equation 1, with its sum over masked positions) in nats, a lower bound of
// [Exact.LogLikelihood]: the negative of [Exact.Bound].
func (e *Exact) UniformELBO() float64 { return -e.Bound() }

// Integrand is g(u) of the bound's mask-fraction form, L_inf = int_0^1 g(u) du: the expected masked cross-entropy over u when
// every target is masked with probability u, in nats.
func (e *Exact) Integrand(u float64) float64 { return e.integrand(u, 1-u) }

// integrand is the sum over k >= 1 of u^(k-1) alpha^(n-k) C(n, k) CE_k; alpha is 1-u with all its digits.
func (e *Exact) integrand(u, alpha float64) float64 {
	sum := 0.0
	for k, ce := range e.byCount() {
		if k == 0 {
			continue
		}
		if p := choose(e.n, k) * math.Pow(u, float64(k-1)) * math.Pow(alpha, float64(e.n-k)); p > 0 {
			sum += p * ce
		}
	}
	return sum
}

// FiniteBound is the bound L_T in nats of the steps of a grid (sheet md4 3.4), with the denoiser doing the last step
// too, as in the authors' code. The schedule's reconstruction and prior terms come on top.
func (e *Exact) FiniteBound(s *diffusion.Schedule, grid diffusion.Grid) float64 {
	sum := 0.0
	for i := 1; i < len(grid); i++ {
		u := s.U(grid[i])
		sum += s.Rho(grid[i-1], grid[i]) * u * e.integrand(u, s.Alpha(grid[i]))
	}
	return sum
}

// LogLikelihood is log p(x0) in nats under the sampler that reveals one position a step in uniformly random order, drawing each
// token from the denoiser: the log of the mean over all orders of the product of the chain rule.
func (e *Exact) LogLikelihood() float64 {
	// log f(M) is the log-likelihood of the masked targets given the rest: f(M) = sum_{i in M} mu_i(M) f(M - i) / |M|.
	f := make([]float64, len(e.logp))
	for M := 1; M < len(f); M++ {
		top := math.Inf(-1)
		for rest := M; rest != 0; rest &= rest - 1 {
			top = max(top, e.reveal(f, M, bits.TrailingZeros(uint(rest))))
		}
		if math.IsInf(top, -1) {
			f[M] = top
			continue
		}
		sum := 0.0
		for rest := M; rest != 0; rest &= rest - 1 {
			sum += math.Exp(e.reveal(f, M, bits.TrailingZeros(uint(rest))) - top)
		}
		f[M] = top + math.Log(sum/float64(bits.OnesCount(uint(M))))
	}
	return f[len(f)-1]
}

// reveal is the log-likelihood of the masked targets M when j of them is revealed first.
func (e *Exact) reveal(f []float64, M, j int) float64 { return e.logp[M][j] + f[M&^(1<<j)] }

// choose is the binomial coefficient C(n, k), exact for n <= MaxExact.
func choose(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return c
}
