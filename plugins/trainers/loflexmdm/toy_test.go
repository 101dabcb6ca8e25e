package loflexmdm_test

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/insertion"
)

// The toy's ids; every string ends with a fixed eos.
const (
	pad, mask, eos = 0, 1, 2
	vocabulary     = 5
	width          = 3
)

// corrupted is a string whose positions are in certain states, as a row of a batch.
type corrupted struct {
	word   int
	tokens []int32 // the string with its eos
	states []int
}

// corruptions are all states of the strings, eos clean.
func corruptions(words [][]int32) (out []corrupted) {
	for w, word := range words {
		free := len(word) - 1
		for code := range int(math.Pow(3, float64(free))) {
			c := corrupted{word: w, tokens: word, states: make([]int, len(word))}
			for j := range free {
				c.states[j] = code % 3
				code /= 3
			}
			c.states[free] = insertion.Clean
			out = append(out, c)
		}
	}
	return out
}

// noise puts the row into its states: the first number that the host draws makes an event immediate, the last one makes it wait for
// 16.6 divided by its speed.
func (c corrupted) noise() (in, um []float64) {
	const now, late = 0x1p-24, 1 - 0x1p-24
	in, um = make([]float64, width), make([]float64, width)
	for j := range width {
		in[j], um[j] = now, now
		if j < len(c.states) && c.states[j] == insertion.Dropped {
			in[j] = late
		}
		if j < len(c.states) && c.states[j] == insertion.Masked {
			um[j] = late
		}
	}
	return in, um
}

// logp is the log-probability of the states of free positions at the clock u.
func (c corrupted) logp(u float64, bIn, bUm []float64) (sum float64) {
	for j, s := range c.states[:len(c.states)-1] {
		drop, masked, clean := insertion.StateLogProbabilities(u, bIn[j], bUm[j])
		sum += [3]float64{drop, masked, clean}[s]
	}
	return sum
}

func (c corrupted) contract(bIn []float64) insertion.Contracted {
	return insertion.Contract(c.tokens, c.states, bIn[:len(c.tokens)], mask)
}

// row is the string as a padded row, and which of its positions are free and real.
func (c corrupted) row() (tokens, free, real []float64) {
	tokens, free, real = make([]float64, width), make([]float64, width), make([]float64, width)
	for j, v := range c.tokens {
		tokens[j], real[j] = float64(v), 1
		if j < len(c.tokens)-1 {
			free[j] = 1
		}
	}
	return tokens, free, real
}

// answer is what the denoiser says of a contracted row: probabilities [slot][token], rates of gaps and of masks.
type answer struct {
	k      [width][vocabulary]float64
	in     [width + 1]float64
	um     [width]float64
	weight float64
}

func key(c insertion.Contracted) string { return fmt.Sprint(c.Tokens) }

// posterior is the best denoiser at the clock u, by enumeration: the mean of what is missing given the contracted row.
func posterior(all []corrupted, p []float64, u float64, bIn, bUm func(word int) []float64) map[string]*answer {
	out := map[string]*answer{}
	for _, c := range all {
		x := c.contract(bIn(c.word))
		a := out[key(x)]
		if a == nil {
			a = &answer{}
			out[key(x)] = a
		}
		w := p[c.word] * math.Exp(c.logp(u, bIn(c.word), bUm(c.word)))
		a.weight += w
		for g, sum := range x.Speeds {
			a.in[g] += w * sum
		}
		for i, id := range x.Tokens {
			if id == mask {
				a.k[i][c.tokens[x.From[i]]] += w
			}
		}
	}
	for _, a := range out {
		for g := range a.in {
			a.in[g] /= a.weight
		}
		for i := range a.k {
			for v := range a.k[i] {
				a.k[i][v] /= a.weight
			}
		}
	}
	return out
}

// gives adds the answer to what the networks give: logits, insertion_rate, unmask_rate.
func (a *answer) gives(to map[string][]float64) {
	for i := range width {
		for _, q := range a.k[i] {
			to["logits"] = append(to["logits"], math.Log(max(q, 1e-30)))
		}
	}
	to["insertion_rate"] = append(to["insertion_rate"], a.in[:]...)
	to["unmask_rate"] = append(to["unmask_rate"], a.um[:]...)
}
