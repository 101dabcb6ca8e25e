package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// Scorer returns log G^i(z, x) [B][N] in (-Inf, 0] of candidates z under states x, both [B][N]: a probability for each position, not
// a distribution over positions. z is x where x is not masked.
type Scorer func(z, x [][]int64) ([][]float64, error)

// G is one half of a P2 planner: G_M, whether the proposal at a masked position deserves to be written, or G_U, whether a written
// token deserves to stay. The zero value is G = 1: every proposal, or every written token, is kept.
type G struct {
	Self  bool   // the denoiser's own probability of the token: self-planning
	Score Scorer // another planner; nil with Self
}

// P2 is the expanded evidence bound of path planning (P2, proposition 1; sheet p2, 4.2) with its denoiser and its planner. It bounds
// the law of the continuous-time P2 chain from below: log P(x0) >= E_D + E_MP + E_UP.
type P2 struct {
	Denoiser Network
	GM, GU   G
}

// P2Terms are the terms of the bound for one sequence, in nats; none is positive. E_D alone is the bound of the plain chain, which
// writes in random order and never revises.
type P2Terms struct{ ED, EMP, EUP float64 }

// Total is E = E_D + E_MP + E_UP.
func (t P2Terms) Total() float64 { return t.ED + t.EMP + t.EUP }

// add adds w times the terms of one state.
func (t *P2Terms) add(w float64, u P2Terms) {
	for _, a := range []struct {
		to *float64
		by float64
	}{{&t.ED, u.ED}, {&t.EMP, u.EMP}, {&t.EUP, u.EUP}} {
		if a.by != 0 { // 0 times an infinite term is not NaN
			*a.to += w * a.by
		}
	}
}

// P2Noise keys the noise of [P2.Draws]. A draw is a function of seed, row and its number alone.
type P2Noise struct {
	Seed uint64
	Row  int
}

// Draws are unbiased estimates of the terms in the count form (sheet p2, 4.3), one for each draw of from to to-1 out of all: the
// number n of masked positions is uniform in 1..L, stratified over all draws; which n are masked is uniform; the sums over
// masked and written positions weigh L/n; z ~ D(x) where a scorer reads it. The state without masks, whose weight is infinite, is
// left out: the sampler stops there, so that G_U = 1. A scorer for G_M takes a call for each masked position, since z is
// changed at that position.
func (p *P2) Draws(s *Sequence, noise P2Noise, from, to, all int) ([]P2Terms, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	L := len(s.Free)
	if L == 0 {
		return make([]P2Terms, to-from), nil
	}
	count, subset, tokens := diffusion.NewNoise(noise.Seed, "p2.count"), diffusion.NewNoise(noise.Seed, "p2.subset"), diffusion.NewNoise(noise.Seed, "p2.tokens")
	var shared [1]float32
	count.Uniform(shared[:], 0, noise.Row, 1)
	rank, u := make([]int64, L), make([]float32, L)
	masked := make([][]bool, to-from) // [B][L]
	for b := range masked {
		_, at := math.Modf(float64(shared[0]) + float64(from+b)/float64(all))
		n := 1 + min(int(at*float64(L)), L-1)
		diffusion.Ranks(subset, rank, int64(from+b), noise.Row, L)
		for _, r := range rank {
			masked[b] = append(masked[b], r < int64(n))
		}
	}
	states, err := p.states(s, masked)
	if err != nil {
		return nil, err
	}
	z := make([]candidate, to-from)
	for b, x := range states {
		tokens.Uniform(u, int64(from+b), noise.Row, L)
		z[b] = candidate{b, slices.Clone(x.x), 1}
		for _, j := range x.in {
			z[b].z[s.Free[j]] = draw(x.lp[j], float64(u[j]))
		}
	}
	terms, err := p.terms(s, states, z)
	if err != nil {
		return nil, err
	}
	out := make([]P2Terms, to-from)
	for b, x := range states {
		out[b].add(float64(L)/float64(len(x.in)), terms[b])
	}
	return out, nil
}

// MostCandidates bounds the candidates z over all states that [P2.Exact] enumerates for scorers, each a call of a network.
const MostCandidates = 1 << 17

// Exact sums the terms over every nonempty set of masked positions and, where a scorer reads it, over every z. It takes
// 2^L - 1 calls of the denoiser, of at most [MaxExact] positions; scorers take up to (V+1)^L calls.
func (p *P2) Exact(s *Sequence) (P2Terms, error) {
	var out P2Terms
	if err := s.check(); err != nil {
		return out, err
	}
	L := len(s.Free)
	if L > MaxExact {
		return out, fmt.Errorf("exact enumeration: %d free positions: expected at most %d, since every subset of masks is a call; estimate the bound instead", L, MaxExact)
	}
	total := 0
	for M := 1; M < 1<<L; M++ {
		masked := make([]bool, L)
		for j := range masked {
			masked[j] = M>>j&1 == 1
		}
		states, err := p.states(s, [][]bool{masked})
		if err != nil {
			return out, err
		}
		var z []candidate
		if p.GM.Score != nil || p.GU.Score != nil {
			z = s.candidates(states[0], MostCandidates-total)
			if total += len(z); z == nil {
				return out, fmt.Errorf("exact enumeration: more than %d candidates z of %d free positions: expected fewer for a planner that reads them; estimate the bound instead", MostCandidates, L)
			}
		}
		terms, err := p.terms(s, states, z)
		if err != nil {
			return out, err
		}
		n := bits.OnesCount(uint(M))
		out.add(1/(float64(n)*choose(L, n)), terms[0])
	}
	return out, nil
}

// p2State is a state with what the denoiser says of it.
type p2State struct {
	x       []int64     // [N]
	in, off []int       // free positions that are masked, and that are not
	lp      [][]float64 // [L][V]
}

func (p *P2) states(s *Sequence, masked [][]bool) ([]p2State, error) {
	x := make([][]int64, len(masked))
	for b := range masked {
		x[b] = s.state(masked[b])
	}
	lp, err := s.ask(p.Denoiser, x)
	if err != nil {
		return nil, err
	}
	out := make([]p2State, len(masked))
	for b := range out {
		out[b] = p2State{x[b], places(masked[b], true), places(masked[b], false), lp[b]}
	}
	return out, nil
}

// candidate is a full sequence z with its probability, under one of several states.
type candidate struct {
	state int
	z     []int64 // [N]
	p     float64
}

// candidates are the z of a state that have a probability above 0: nil if there are more than most.
func (s *Sequence) candidates(x p2State, most int) []candidate {
	out := []candidate{{0, x.x, 1}}
	for _, j := range x.in {
		var longer []candidate
		for _, c := range out {
			for v, lp := range x.lp[j] {
				if math.IsInf(lp, -1) {
					continue
				}
				one := slices.Clone(c.z)
				one[s.Free[j]] = int64(v)
				longer = append(longer, candidate{0, one, c.p * math.Exp(lp)})
			}
			if len(longer) > most {
				return nil
			}
		}
		out = longer
	}
	return out
}

// terms are those of states without their weights 1/n; where a scorer reads z, they are the mean over each state's candidates.
func (p *P2) terms(s *Sequence, states []p2State, z []candidate) ([]P2Terms, error) {
	out := make([]P2Terms, len(states))
	for b, x := range states {
		for _, j := range x.in {
			out[b].ED += s.truth(x.lp, j)
		}
		if p.GM.Self { // G_M^i(z^{-i,x0^i}, x) = D^i(x0^i | x)
			out[b].EMP = out[b].ED
		}
		if p.GU.Self {
			for _, j := range x.off {
				out[b].EUP += s.truth(x.lp, j)
			}
		}
	}
	if p.GU.Score != nil {
		err := score(p.GU.Score, states, z, func(c int) []int { return s.at(states[z[c].state].off) }, func(c int, g float64) { out[z[c].state].EUP += g })
		if err != nil {
			return nil, err
		}
	}
	if p.GM.Score == nil {
		return out, nil
	}
	var written []candidate // z^{-i,x0^i}
	var place []int         // i
	for _, c := range z {
		for _, i := range s.at(states[c.state].in) {
			one := candidate{c.state, slices.Clone(c.z), c.p}
			one.z[i] = s.X0[i]
			written, place = append(written, one), append(place, i)
		}
	}
	return out, score(p.GM.Score, states, written, func(c int) []int { return place[c : c+1] }, func(c int, g float64) { out[written[c].state].EMP += g })
}

// at are the positions in the sequence of free positions j.
func (s *Sequence) at(j []int) []int {
	out := make([]int, len(j))
	for k := range j {
		out[k] = s.Free[j[k]]
	}
	return out
}

// score asks for the scores of candidates and gives p log G at the positions that each one has to add.
func score(g Scorer, states []p2State, z []candidate, at func(c int) []int, add func(c int, g float64)) error {
	var asked []int
	var zs, xs [][]int64
	for c := range z {
		if len(at(c)) > 0 && z[c].p > 0 {
			asked, zs, xs = append(asked, c), append(zs, z[c].z), append(xs, states[z[c].state].x)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	scores, err := g(zs, xs)
	if err != nil {
		return err
	}
	if len(scores) != len(asked) {
		return errors.New("planner: scores of another number of candidates; expected one row each")
	}
	for k, c := range asked {
		for _, i := range at(c) {
			x := scores[k][i]
			if math.IsNaN(x) || x > 1e-6 { // above 0 by rounding alone
				return fmt.Errorf("planner: log G is %v at position %d; expected a log-probability, at most 0", x, i)
			}
			add(c, z[c].p*x)
		}
	}
	return nil
}
