package sampling

import (
	"math"
	"slices"
)

// enter prepares what the edits need of row b: which tokens it holds.
func (c *computer) enter(batch *Batch, b int) {
	if c.head.Edits.Repetition == 0 || c.head.Edits.Repetition == 1 {
		return
	}
	for _, t := range c.written {
		c.holds[t] = false
	}
	c.written = c.written[:0]
	c.holds = slices.Grow(c.holds[:0], c.v)[:c.v]
	for i := b * batch.L; i < (b+1)*batch.L; i++ {
		if t, is := c.token(batch, i); is && !c.holds[t] {
			c.holds[t] = true
			c.written = append(c.written, t)
		}
	}
}

// token returns the token that position i holds, and whether it is one that edits look at: attended and in the vocabulary.
// That it may be the mask does no harm, since the mask is suppressed.
func (c *computer) token(batch *Batch, i int) (int32, bool) {
	t := batch.Tokens[i]
	return int32(t), t >= 0 && int(t) < c.v && (batch.Attention == nil || batch.Attention[i] != 0)
}

// edit returns the logits z [V] of position i after the edits, in memory of its own where there are any. The arithmetic
// is float32, but for the logarithm of the credit.
func (c *computer) edit(z []float32, batch *Batch, i int) []float32 {
	e := &c.head.Edits
	if e.None() {
		return z
	}
	c.edited = append(c.edited[:0], z...)
	z = c.edited
	for _, b := range e.Bias {
		if b.Token >= 0 && int(b.Token) < c.v {
			z[b.Token] += b.Value
		}
	}
	for _, t := range c.written {
		if z[t] > 0 {
			z[t] /= e.Repetition
		} else {
			z[t] *= e.Repetition
		}
	}
	if e.Left != 0 && i%batch.L > 0 {
		if t, is := c.token(batch, i-1); is {
			z[t] -= e.Left
		}
	}
	if e.Credit.Alpha != 0 {
		c.credit(z, batch, i)
	}
	return z
}

// credit updates the credits of position i and adds them to its logits.
func (c *computer) credit(z []float32, batch *Batch, i int) {
	p := c.peaks(z)
	if p.fault != 0 {
		return
	}
	e, m := &c.head.Edits.Credit, c.memory.credits(i%batch.L)
	for v, x := range m {
		if m[v] = x * e.Beta; m[v] < leastCredit {
			m[v] = 0
		}
	}
	if c.masked(batch, i) {
		total := 0.0
		for _, run := range c.allowed {
			for v := run[0]; v < run[1]; v++ {
				total += math.Exp(float64(z[v]) - p.first)
			}
		}
		m[p.argmax] += float32(math.Pow(total, -float64(e.Gamma)))
	}
	for v, x := range m {
		if x > 0 {
			z[v] += float32(float64(e.Alpha) * math.Log1p(float64(x)))
		}
	}
}

// leastCredit is what a credit falls to before it is forgotten, far above where numbers lose their digits.
const leastCredit = 1e-30

// masked tells whether position i is blank: it holds the mask, or a token that nobody may write.
func (c *computer) masked(batch *Batch, i int) bool {
	t := batch.Tokens[i]
	return t >= 0 && int(t) < c.v && c.suppressed[t]
}
