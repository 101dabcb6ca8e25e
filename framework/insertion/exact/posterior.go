package exact

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/insertion"
)

// Posterior gives the posterior means that a perfectly trained network would give.
type Posterior struct {
	law      Law
	members  map[string][]alignment // by what a network sees
	u        float64
	logs     [][][3]float64 // [word][position][state] at u
	answered map[string]Heads
}

// Heads is what the model says of a row of n positions. Known is false where no string of the law can look like the row; there
// tokens are flat and nothing is inserted.
type Heads struct {
	UnmaskRate    []float64   // [n] E[b_um], 0 where nothing is masked
	Tokens        [][]float64 // [n][V] E[b_um delta] / E[b_um] of masks
	InsertionRate []float64   // [n+1] E[sum of the b_in missing in the gap]
	Known         bool
}

// New enumerates the law's alignments.
func New(l Law) *Posterior {
	p := &Posterior{law: l, members: map[string][]alignment{}, u: -1}
	for _, a := range l.alignments() {
		p.members[key(a.Tokens)] = append(p.members[key(a.Tokens)], a)
	}
	return p
}

// at fixes the clock.
func (p *Posterior) at(u float64) {
	if u = max(u, 1e-9); u == p.u {
		return
	}
	p.u, p.logs, p.answered = u, nil, map[string]Heads{}
	for w, s := range p.law.Strings {
		logs := make([][3]float64, len(s))
		for j := range s {
			logs[j][insertion.Dropped], logs[j][insertion.Masked], logs[j][insertion.Clean] =
				insertion.StateLogProbabilities(u, speed(p.law.BIn, w, j), speed(p.law.BUm, w, j))
		}
		p.logs = append(p.logs, logs)
	}
}

// Heads returns what the model says of a row at the clock u. The result is kept while u stays: do not change it.
func (p *Posterior) Heads(row []int32, u float64) Heads {
	p.at(u)
	k := key(row)
	if h, ok := p.answered[k]; ok {
		return h
	}
	h := p.heads(p.members[k], len(row))
	p.answered[k] = h
	return h
}

func (p *Posterior) heads(members []alignment, n int) Heads {
	h := Heads{UnmaskRate: make([]float64, n), InsertionRate: make([]float64, n+1), Known: len(members) > 0}
	for range n {
		h.Tokens = append(h.Tokens, make([]float64, p.law.V))
	}
	sum := 0.0
	for _, a := range members {
		logp := math.Log(p.law.P[a.word])
		for j, state := range a.states {
			logp += p.logs[a.word][j][state]
		}
		weight := math.Exp(logp)
		sum += weight
		for g, b := range a.Speeds {
			h.InsertionRate[g] += weight * b
		}
		for i, j := range a.From {
			if a.states[j] == insertion.Masked {
				b := weight * speed(p.law.BUm, a.word, j)
				h.UnmaskRate[i] += b
				h.Tokens[i][p.law.Strings[a.word][j]] += b
			}
		}
	}
	for i, rate := range h.UnmaskRate {
		for v := range h.Tokens[i] {
			h.Tokens[i][v] /= max(rate, 1e-300)
		}
		h.UnmaskRate[i] /= max(sum, 1e-300)
	}
	for g := range h.InsertionRate {
		h.InsertionRate[g] /= max(sum, 1e-300)
	}
	return h
}
