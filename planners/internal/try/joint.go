package try

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Joint is an explicit distribution over V^L rows of tokens, with its exact denoiser; the mask is token V.
type Joint struct {
	L, V int
	P    []float64 // [V^L], the first token the most significant digit
	seen map[string][]float64
}

// NewJoint draws a joint; the last determined positions are functions of the others, so that some tokens become certain.
func NewJoint(l, v, determined int, seed uint64) Joint {
	rng := rand.New(rand.NewPCG(seed, 1))
	j, free, sum := Joint{L: l, V: v, P: make([]float64, pow(v, l)), seen: map[string][]float64{}}, l-determined, 0.0
	couple := make([]float64, free*free*v*v)
	for i := range couple {
		couple[i] = 1.2 * rng.NormFloat64()
	}
	for row := range j.P {
		energy, fits := 0.0, true
		for a := range free {
			for b := range a + 1 {
				energy += couple[((a*free+b)*v+j.Token(row, a))*v+j.Token(row, b)]
			}
		}
		for d := range determined {
			fits = fits && j.Token(row, free+d) == (j.Token(row, d)+(d+1)*j.Token(row, d+1))%v
		}
		if fits {
			j.P[row] = math.Exp(energy)
			sum += j.P[row]
		}
	}
	for i := range j.P {
		j.P[i] /= sum
	}
	return j
}

func pow(v, l int) int {
	n := 1
	for range l {
		n *= v
	}
	return n
}

// Token returns token i of a row.
func (j Joint) Token(row, i int) int { return row / pow(j.V, j.L-1-i) % j.V }

// Rows yields the rows that agree with the tokens that are not masked, and their probability.
func (j Joint) Rows(tokens []int64, yield func(row int, p float64)) {
	for row, p := range j.P {
		fits := p > 0
		for i, t := range tokens {
			fits = fits && (int(t) == j.V || int(t) == j.Token(row, i))
		}
		if fits {
			yield(row, p)
		}
	}
}

// Conditionals returns P(token i = v | the tokens that are not masked) [L, V], computed once for each canvas. Where no row
// agrees with the canvas, it is uniform.
func (j Joint) Conditionals(tokens []int64) []float64 {
	canvas := make([]byte, len(tokens))
	for i, t := range tokens {
		canvas[i] = byte(t)
	}
	if p, ok := j.seen[string(canvas)]; ok {
		return p
	}
	p, sum := make([]float64, j.L*j.V), 0.0
	j.Rows(tokens, func(row int, q float64) {
		sum += q
		for i := range j.L {
			p[i*j.V+j.Token(row, i)] += q
		}
	})
	for i := range p {
		if p[i] /= sum; sum == 0 {
			p[i] = 1 / float64(j.V)
		}
	}
	j.seen[string(canvas)] = p
	return p
}

// Logits is the exact denoiser for [Denoiser.Logits]; the mask has the largest logit, which must never matter.
func (j Joint) Logits(tokens []int64, out []float32) { j.logits(j.Conditionals(tokens), out) }

// logits lays probabilities [L, V] out for [Denoiser.Logits].
func (j Joint) logits(p []float64, out []float32) {
	for i := range j.L {
		for v := range j.V {
			out[i*(j.V+1)+v] = float32(math.Log(p[i*j.V+v]))
		}
		out[i*(j.V+1)+j.V] = 100
	}
}

// Others are the conditionals [L, V] of every position given the other written ones: those of an ideal denoiser, whose opinion of
// a written token does not rest on that token.
func (j Joint) Others(tokens []int64) []float64 {
	p := slices.Clone(j.Conditionals(tokens))
	for i, token := range tokens {
		if int(token) < j.V {
			without := slices.Clone(tokens)
			without[i] = int64(j.V)
			copy(p[i*j.V:(i+1)*j.V], j.Conditionals(without)[i*j.V:(i+1)*j.V])
		}
	}
	return p
}

// LogitsOfOthers is the denoiser of [Joint.Others]; the mask has the largest logit, which must never matter.
func (j Joint) LogitsOfOthers(tokens []int64, out []float32) { j.logits(j.Others(tokens), out) }

// Number is the place of a whole row in P, the inverse of [Joint.Token].
func Number[T byte | int32](j Joint, row []T) (number int) {
	for _, token := range row {
		number = j.V*number + int(token)
	}
	return number
}

// TotalCorrelation is sum_i H(token i) - H(tokens at the positions), nats, given the tokens that are not masked.
func (j Joint) TotalCorrelation(tokens []int64, positions []int32) (tc float64) {
	together, sum := map[int]float64{}, 0.0
	j.Rows(tokens, func(row int, q float64) {
		key := 0
		for _, i := range positions {
			key = key*j.V + j.Token(row, int(i))
		}
		together[key] += q
		sum += q
	})
	for _, q := range together {
		tc += q / sum * math.Log(q/sum)
	}
	p := j.Conditionals(tokens)
	for _, i := range positions {
		for _, q := range p[int(i)*j.V : (int(i)+1)*j.V] {
			if q > 0 {
				tc -= q * math.Log(q)
			}
		}
	}
	return tc
}
