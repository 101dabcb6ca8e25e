package evaluate

import (
	"cmp"
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
	// node is the step in log t, so that every other t is twice as large. The trapezoid rule of such integrands is off by about
	// 2 |Gamma(1 + 2 pi i / node)|: 1e-11 relative.
	node = math.Ln2 / 2
	// negligible is the planner's weight, relative to the largest, below which a position is left out: what it adds is below 1e-12.
	negligible = 1e-15
	// rare is the probability of tokens that are taken together, at the mean of their a. The transform is convex, so that phi and F
	// come out a little too small: the bound stays one.
	rare = 1e-14
)

// Step implements [Order].
func (o SoftGreedyOrder) Step(lp [][]float64, y []int64) (g, logF, low []float64) {
	return o.step(lp, y, negligible)
}

// LogF implements [Order].
func (o SoftGreedyOrder) LogF(lp [][]float64, y []int64) []float64 {
	_, logF, _ := o.step(lp, y, 0)
	return logF
}

// step leaves positions out whose weight, relative to the largest, is below a number, or whose token is impossible: log F is -Inf there.
func (o SoftGreedyOrder) step(lp [][]float64, y []int64, below float64) (g, logF, low []float64) {
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
	used := make([]bool, n)
	sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for i := range g {
		if used[i] = a[i] > top+math.Log(below); used[i] {
			g[i] = math.Exp(a[i] - top)
			sum += g[i]
			least = min(least, a[i])
		}
	}
	for i := range g {
		g[i] /= sum
	}
	z := make([]*atoms, n)
	for j := range z {
		z[j] = o.atoms(lp[j])
		most = max(most, z[j].a[0])
	}
	from, to := -most-math.Log(float64(n))-36, -least+math.Log(45)
	phi := make([]float64, n) // log phi_j(t)
	f, gap := make([]float64, n), make([]float64, n)
	for k := 0; from+float64(k)*node < to; k++ {
		s := from + float64(k)*node
		all, zero := 0.0, 0 // log of the product, of the factors that are above 0
		for j := range phi {
			if phi[j] = z[j].transform(k, s); math.IsInf(phi[j], -1) {
				zero++
			} else {
				all += phi[j]
			}
		}
		for i := range f {
			if !used[i] {
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

// atoms are the distribution of a = D(z)^(1/Tau) at one position, the largest a first, and its transform on a grid of t that doubles
// every other node: exp(-2 t a) is the square of exp(-t a), so that a node takes a multiplication for each token.
type atoms struct {
	p, a  []float64 // probability and log a
	after []float64 // after[k] sums p[k:]
	odd   [2]struct {
		u, e       []float64 // t a, and exp(-t a), of the atoms before live
		dead, live int       // atoms before dead have exp(-t a) = 0, those from live on have 1
	}
}

func (o SoftGreedyOrder) atoms(lp []float64) *atoms {
	type atom struct{ p, a float64 }
	var all []atom
	var mass, mean float64
	for _, x := range lp {
		switch p := math.Exp(x); {
		case p == 0:
		case p < rare:
			mass += p
			mean += p * math.Exp(x/o.Tau)
		default:
			all = append(all, atom{p, x / o.Tau})
		}
	}
	if mass > 0 {
		all = append(all, atom{mass, math.Log(mean / mass)})
	}
	slices.SortFunc(all, func(x, y atom) int { return cmp.Compare(y.a, x.a) })
	t := &atoms{after: make([]float64, len(all)+1)}
	for k := len(all) - 1; k >= 0; k-- {
		t.after[k] = t.after[k+1] + all[k].p
	}
	for _, x := range all {
		t.p, t.a = append(t.p, x.p), append(t.a, x.a)
	}
	return t
}

// transform is log phi at node number k, where t = exp(s).
func (t *atoms) transform(k int, s float64) float64 {
	g := &t.odd[k%2]
	for i := g.dead; i < g.live; i++ {
		u := 2 * g.u[i]
		if g.u[i] = u; u < 0x1p-10 {
			g.e[i] = 1 - u*(1-u/2*(1-u/3*(1-u/4)))
		} else {
			g.e[i] *= g.e[i]
		}
	}
	for ; g.live < len(t.a) && s+t.a[g.live] > -40; g.live++ {
		u := math.Exp(s + t.a[g.live])
		g.u, g.e = append(g.u, u), append(g.e, math.Exp(-u))
	}
	for g.dead < g.live && g.e[g.dead] == 0 {
		g.dead++
	}
	sum := t.after[g.live]
	for i := g.dead; i < g.live; i++ {
		sum += t.p[i] * g.e[i]
	}
	return math.Log(sum)
}
