package evaluate

import (
	"math"
	"slices"
)

// SoftGreedyOrder chooses a masked position with probability D^i(z^i | x)^(1/Tau) / C(z, x), C being the sum over masked positions
// (sheet papl, 3.1). Tau is above 0; large ones tend to the uniform order, small ones to the greedy one.
//
// F is an expectation over all z of 1/(a_i + S), and the corollary A.9 one of log(a_i + S), where a_i = D^i(x0^i)^(1/Tau) and S sums
// the independent terms of the other proposals. Both are integrals of the terms' Laplace transforms phi_j(t) = E exp(-t a_j(z^j)):
//
//	F = int_0^inf a_i exp(-t a_i) prod_j phi_j(t) dt
//	E log C = log a_i + int_0^inf (exp(-t a_i) - exp(-t a_i) prod_j phi_j(t)) dt / t
//
// so that neither needs a sample, whose logarithm would be biased.
type SoftGreedyOrder struct{ Tau float64 }

const (
	// node is the step in log t. The trapezoid rule of such integrands is off by about 2 |Gamma(1 + 2 pi i / node)|: 1e-13 relative.
	node = 0.3
	// negligible is the planner's weight, relative to the largest, below which a position is left out: what it adds is below 1e-12.
	negligible = 1e-15
	// rare is the probability of tokens that are taken together, at the mean of their a. The transform is convex, so that phi and F
	// come out a little too small: the bound stays one.
	rare = 1e-14
)

// Step implements [Order].
func (o SoftGreedyOrder) Step(lp [][]float64, y []int64) (g, logF, low []float64) {
	n := len(lp)
	g, logF, low = make([]float64, n), make([]float64, n), make([]float64, n)
	a := make([]float64, n) // log a_i
	for i := range a {
		a[i] = lp[i][y[i]] / o.Tau
	}
	top := slices.Max(a)
	if math.IsInf(top, -1) { // every true token is impossible: so is x0, wherever it goes on
		for i := range g {
			g[i], logF[i], low[i] = 1/float64(n), math.Inf(-1), math.Inf(-1)
		}
		return g, logF, low
	}
	sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for i := range g {
		if a[i] > top+math.Log(negligible) {
			g[i] = math.Exp(a[i] - top)
			sum += g[i]
			least = min(least, a[i])
		}
	}
	for i := range g {
		g[i] /= sum
	}
	terms := make([][]term, n)
	for j := range terms {
		terms[j] = o.terms(lp[j])
		for _, t := range terms[j] {
			most = max(most, t.a)
		}
	}
	from, to := -most-math.Log(float64(n))-36, -least+math.Log(45)
	phi := make([]float64, n) // log phi_j(t)
	f, gap := make([]float64, n), make([]float64, n)
	for s := from; s < to; s += node {
		all, zero := 0.0, 0 // log of the product, of the factors that are above 0
		for j := range phi {
			if phi[j] = transform(terms[j], s); math.IsInf(phi[j], -1) {
				zero++
			} else {
				all += phi[j]
			}
		}
		for i := range f {
			if g[i] == 0 {
				continue
			}
			others := all - phi[i]
			switch {
			case zero == 1 && math.IsInf(phi[i], -1):
				others = all
			case zero > 0:
				others = math.Inf(-1)
			}
			ta := math.Exp(s + a[i])
			f[i] += ta * math.Exp(others-ta)
			gap[i] -= math.Exp(-ta) * math.Expm1(others)
		}
	}
	for i := range f {
		logF[i] = math.Log(min(f[i]*node, 1))
		low[i] = -node * gap[i] // log a_i - E log C
	}
	return g, logF, low
}

// term is an atom of the distribution of log a_j(z^j).
type term struct{ p, a float64 }

// terms are the distribution of log a at one position.
func (o SoftGreedyOrder) terms(lp []float64) []term {
	var out []term
	var mass, mean float64
	for _, x := range lp {
		switch p := math.Exp(x); {
		case p == 0:
		case p < rare:
			mass += p
			mean += p * math.Exp(x/o.Tau)
		default:
			out = append(out, term{p, x / o.Tau})
		}
	}
	if mass > 0 {
		out = append(out, term{mass, math.Log(mean / mass)})
	}
	return out
}

// transform is log phi(t) at t = exp(s).
func transform(terms []term, s float64) float64 {
	missing, sum := 0.0, 0.0 // 1 - phi, and phi
	for _, t := range terms {
		switch x := s + t.a; {
		case x < -40: // exp(-e^x) is 1
			sum += t.p
			missing += t.p * math.Exp(x)
		case x > 6.6: // it is 0
			missing += t.p
		default:
			e := math.Expm1(-math.Exp(x))
			missing -= t.p * e
			sum += t.p * (1 + e)
		}
	}
	if missing < 0.5 {
		return math.Log1p(-missing)
	}
	return math.Log(sum)
}
