package evaluate

import (
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// Order is a planner of Planner-Aware Path Learning, a distribution G(z, x) over masked positions that chooses which of the
// proposals z ~ D(x) is written next; none is revised (sheet papl, 3.1).
//
// Step returns what the bound needs at one state: G(x0, x)_i; log F(x, x0^i, i), F being the chance over z that i is chosen when its
// proposal is the true token; and a lower bound of log F, that of a corollary. lp [n][V] are the denoiser's log-probabilities at
// the n masked positions in ascending order, y [n] the true tokens. Both logs are read where G is above 0. LogF is log F at every
// position, wherever the reference chain goes.
type Order interface {
	Step(lp [][]float64, y []int64) (g, logF, low []float64)
	LogF(lp [][]float64, y []int64) []float64
}

// UniformOrder chooses any masked position: the plain sampler. G does not read z, so that F = G, E2 = 0 and E1 = E_unif.
type UniformOrder struct{}

// Step implements [Order].
func (UniformOrder) Step(lp [][]float64, _ []int64) (g, logF, low []float64) {
	n := float64(len(lp))
	for range lp {
		g, logF = append(g, 1/n), append(logF, math.Log(1/n))
	}
	return g, logF, logF
}

// LogF implements [Order].
func (o UniformOrder) LogF(lp [][]float64, y []int64) []float64 {
	_, logF, _ := o.Step(lp, y)
	return logF
}

// GreedyOrder writes the proposal that the denoiser finds most probable, at the lowest position on ties. The other proposals are
// independent of each other, so F is a product of cumulative probabilities: exact without any sample. Its corollary is A.8, where
// every other masked position proposes its true token.
type GreedyOrder struct{}

// Step implements [Order].
func (GreedyOrder) Step(lp [][]float64, y []int64) (g, logF, low []float64) {
	n := len(lp)
	g, logF, low = make([]float64, n), make([]float64, n), make([]float64, n)
	top := 0
	for i := range lp {
		if lp[i][y[i]] > lp[top][y[top]] {
			top = i
		}
	}
	g[top], logF[top] = 1, wins(lp, y, top)
	for j := range lp {
		if j != top {
			low[top] += lp[j][y[j]]
		}
	}
	return g, logF, low
}

// LogF implements [Order].
func (GreedyOrder) LogF(lp [][]float64, y []int64) []float64 {
	out := make([]float64, len(lp))
	for i := range lp {
		out[i] = wins(lp, y, i)
	}
	return out
}

// wins is the log of the chance that every other proposal loses against the true token at i.
func wins(lp [][]float64, y []int64, i int) (sum float64) {
	for j := range lp {
		if j != i {
			sum += loses(lp[j], lp[i][y[i]], j > i)
		}
	}
	return sum
}

// loses is the log of the chance that a proposal drawn from lp [V] scores below the winner's score, or as high where it loses ties.
func loses(lp []float64, winner float64, tie bool) float64 {
	sum := 0.0
	for _, x := range lp {
		if x < winner || tie && x == winner {
			sum += math.Exp(x)
		}
	}
	return math.Log(min(sum, 1))
}

// PELBO is the planner-aware bound P-ELBO of a denoiser and an order (Planner-Aware Path Learning, proposition 3.2; sheet papl, 4.3):
// log p^G(x0) >= E1 + E2, with the reference chain r^G, which walks from all masks to x0 by G(x0, x) and writes true tokens.
type PELBO struct {
	Denoiser Network
	Order    Order
}

// PELBOTerms are in nats. E1 is not positive. E2 is no negative KL divergence whatever the paper says: F(x, x0^i, i) is not normalised
// over i, so that E2 may be positive, and E1 + E2 is a bound all the same. Corollary is a looser bound, E1 plus a lower bound
// of E2: A.8 for the greedy order, A.9 for the soft greedy one, A.13 for P2's top-k, E1 itself for the uniform one.
type PELBOTerms struct{ E1, E2, Corollary float64 }

// Total is E1 + E2.
func (t PELBOTerms) Total() float64 { return t.E1 + t.E2 }

// step adds w times the terms of one state.
func (t *PELBOTerms) step(w float64, lp [][]float64, y []int64, order Order) (g []float64) {
	g, logF, low := order.Step(lp, y)
	for i := range g {
		if g[i] > 0 {
			e1 := w * g[i] * lp[i][y[i]]
			t.E1 += e1
			t.E2 += w * g[i] * (logF[i] - math.Log(g[i]))
			t.Corollary += e1 + w*g[i]*(low[i]-math.Log(g[i]))
		}
	}
	return g
}

// Draws are unbiased estimates of the terms, one for each path of the reference chain from number from to to-1. Each takes L calls
// of the denoiser, batched over paths, and adds up the expectation over the next position at each step. A draw is a function of
// seed, row and its number.
func (p *PELBO) Draws(s *Sequence, seed uint64, row, from, to int) ([]PELBOTerms, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	L := len(s.Free)
	noise := diffusion.NewNoise(seed, "pelbo.path")
	out, masked, u := make([]PELBOTerms, to-from), make([][]bool, to-from), make([][]float32, to-from)
	for b := range out {
		masked[b], u[b] = slices.Repeat([]bool{true}, L), make([]float32, L)
		if L > 0 {
			noise.Uniform(u[b], int64(from+b), row, L)
		}
	}
	for k := range L {
		x := make([][]int64, len(out))
		for b := range x {
			x[b] = s.state(masked[b])
		}
		lp, err := s.ask(p.Denoiser, x)
		if err != nil {
			return nil, err
		}
		for b := range out {
			in := places(masked[b], true)
			rows, y := s.rows(lp[b], in)
			g := out[b].step(1, rows, y, p.Order)
			masked[b][in[pick(g, float64(u[b][k]))]] = false
		}
	}
	return out, nil
}

// pick draws an index of g, which sums to 1.
func pick(g []float64, u float64) int {
	sum, last := 0.0, 0
	for i, x := range g {
		if x <= 0 {
			continue
		}
		if sum, last = sum+x, i; u < sum {
			break
		}
	}
	return last
}

// Exact follows all paths of the reference chain at once: a call of the denoiser for each state that it reaches, 2^L - 1 of them for
// random orders of at most [MaxExact] positions, L for the greedy order, of any number.
func (p *PELBO) Exact(s *Sequence) (PELBOTerms, error) {
	var out PELBOTerms
	if err := s.check(); err != nil {
		return out, err
	}
	L := len(s.Free)
	if _, greedy := p.Order.(GreedyOrder); greedy {
		one, err := p.Draws(s, 0, 0, 0, 1) // there is one path
		if err != nil {
			return out, err
		}
		return one[0], nil
	}
	r := make([]float64, 1<<min(L, MaxExact+1)) // r_k^G of the sets of masked positions, which lose one position a step
	r[len(r)-1] = 1
	err := p.descend(s, func(M int) bool { return r[M] > 0 }, func(M int, in []int, lp [][]float64, y []int64) {
		for i, g := range out.step(r[M], lp, y, p.Order) {
			r[M&^(1<<in[i])] += r[M] * g
		}
	})
	return out, err
}

// LogLikelihood is log p^G(x0) of the sampler itself, which writes proposals that happen to be true, in any order:
//
//	p^G(x_k+1) = sum over the last written i of p^G(x_k) D^i(x0^i | x_k) F(x_k, x0^i, i)
//
// by enumeration of every subset of at most [MaxExact] positions. It is at least E1 + E2.
func (p *PELBO) LogLikelihood(s *Sequence) (float64, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	logp := slices.Repeat([]float64{math.Inf(-1)}, 1<<min(len(s.Free), MaxExact+1)) // of the sets of masked positions
	logp[len(logp)-1] = 0
	err := p.descend(s, func(M int) bool { return !math.IsInf(logp[M], -1) }, func(M int, in []int, lp [][]float64, y []int64) {
		for i, f := range p.Order.LogF(lp, y) {
			to := &logp[M&^(1<<in[i])]
			*to = addLogs(*to, logp[M]+lp[i][y[i]]+f)
		}
	})
	return logp[0], err
}

// addLogs is log(exp(a) + exp(b)).
func addLogs(a, b float64) float64 {
	a, b = max(a, b), min(a, b)
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// descend visits the nonempty sets M of masked positions that reached says are wanted, larger numbers first, so that every set comes after
// those that it is a part of.
func (p *PELBO) descend(s *Sequence, reached func(M int) bool, visit func(M int, in []int, lp [][]float64, y []int64)) error {
	L := len(s.Free)
	if L > MaxExact {
		return fmt.Errorf("exact enumeration: %d free positions: expected at most %d, since every subset of masks is a call; estimate the bound instead", L, MaxExact)
	}
	for M := 1<<L - 1; M > 0; M-- {
		if !reached(M) {
			continue
		}
		masked := make([]bool, L)
		for j := range masked {
			masked[j] = M>>j&1 == 1
		}
		lp, err := s.ask(p.Denoiser, [][]int64{s.state(masked)})
		if err != nil {
			return err
		}
		in := places(masked, true)
		rows, y := s.rows(lp[0], in)
		visit(M, in, rows, y)
	}
	return nil
}

// rows are the rows of lp [L][V] at some free positions, and the true tokens there.
func (s *Sequence) rows(lp [][]float64, at []int) (rows [][]float64, y []int64) {
	for _, j := range at {
		rows, y = append(rows, lp[j]), append(y, s.X0[s.Free[j]])
	}
	return rows, y
}
