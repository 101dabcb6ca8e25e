package sampling

import "math"

// drawing is what is known of a distribution that a token was drawn from.
type drawing struct {
	lnAll, lnKept float64 // logs of the sums of exp((z - m)/T) before and after truncation
	entropy       float64 // after truncation, where it is needed
	p1, p2        float64 // the two largest probabilities before or after truncation, where they are needed
	lnNoised      float64 // ln sum exp(x - largest x) of x = z/T + g after truncation, where it is needed
}

// draw draws a token from softmax(z/T) after top-k, top-p and min-p.
func (c *computer) draw(z []float32, p peaks, params Params, batch *Batch, i int) (token int, d drawing) {
	m, temperature := p.first, float64(params.Temperature)
	total := 0.0
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if params.Temperature != 1 { // at 1, e is exp(z - m) already
				c.e[v] = math.Exp((float64(z[v]) - m) / temperature)
			}
			total += c.e[v]
		}
	}
	d.lnAll = math.Log(total)
	peaks := c.head.Needs.Peaks()
	if peaks == OnTempered {
		d.p1, d.p2 = 1/total, c.second(p)/total
	}
	if c.head.Filter {
		total = c.filter(z, m, params, total)
	}
	d.lnKept = math.Log(total)
	if peaks == OnSampling {
		d.p1, d.p2 = 1/total, c.second(p)/total
	}
	if c.head.Needs.Entropy == OnSampling {
		d.entropy = c.entropy(z, p, temperature)
	}
	if c.head.Draw == DrawGumbel {
		g := batch.Gumbel[i*c.v : (i+1)*c.v]
		token = c.gumbel(z, temperature, g)
		if c.head.Needs.LogpProposal == OnNoised {
			d.lnNoised = c.noised(z, temperature, g, token)
		}
		return token, d
	}
	return c.inverse(batch.Uniform[i] * total), d
}

// second returns the largest e but that of the argmax, which is 1; it is 0 where truncation left the argmax alone.
func (c *computer) second(p peaks) float64 {
	largest := 0.0
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if v != p.argmax {
				largest = max(largest, c.e[v])
			}
		}
	}
	return largest
}

// inverse returns the smallest token whose cumulative mass exceeds target; tokens without mass are never returned.
func (c *computer) inverse(target float64) int {
	sum, last := 0.0, -1
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if c.e[v] == 0 {
				continue
			}
			last = v
			if sum += c.e[v]; sum > target {
				return v
			}
		}
	}
	return last // rounding ate the gap below 1
}

// gumbel returns argmax(z/T + g) over the tokens that have mass.
func (c *computer) gumbel(z []float32, temperature float64, g []float64) int {
	best, argmax := math.Inf(-1), -1
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if x := float64(z[v])/temperature + g[v]; c.e[v] > 0 && x > best {
				best, argmax = x, v
			}
		}
	}
	return argmax
}

// noised returns ln sum exp(x - x[argmax]) of x = z/T + g over the tokens that have mass.
func (c *computer) noised(z []float32, temperature float64, g []float64, argmax int) float64 {
	best, sum := float64(z[argmax])/temperature+g[argmax], 0.0
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if c.e[v] > 0 && v != argmax {
				sum += math.Exp(float64(z[v])/temperature + g[v] - best)
			}
		}
	}
	return math.Log1p(sum)
}

// entropy is that of the distribution that e is proportional to, in the cancellation-free form.
func (c *computer) entropy(z []float32, p peaks, temperature float64) float64 {
	var rest, cross float64
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if e := c.e[v]; e > 0 && v != p.argmax {
				rest += e
				cross += e * (p.first - float64(z[v])) / temperature
			}
		}
	}
	return math.Log1p(rest) + cross/(1+rest)
}

// filter sets e to 0 outside the truncated set and returns what is left of total. The largest token always stays.
func (c *computer) filter(z []float32, m float64, params Params, total float64) float64 {
	k, topP := int(params.TopK), float64(params.TopP)
	if k > 0 && k < c.v || topP < 1 {
		c.rank(z)
		lowest := float32(math.Inf(-1))
		if k > 0 && k < c.v {
			lowest, total = c.topK(z, k)
		}
		if topP < 1 {
			total = c.topP(z, topP*total, lowest)
		}
	}
	if params.MinP > 0 {
		limit := math.Log(min(float64(params.MinP), 1))
		total = c.keep(func(v int) bool { return (float64(z[v])-m)/float64(params.Temperature) >= limit })
	}
	return total
}

// topK drops all tokens below the k-th largest logit, which it returns with the mass that is left; equals stay.
func (c *computer) topK(z []float32, k int) (float32, float64) {
	kth := float32(math.Inf(-1))
	for range k {
		v, ok := c.next(z)
		if !ok {
			break
		}
		kth = z[v]
	}
	total := c.keep(func(v int) bool { return z[v] >= kth })
	c.rank(z)
	return kth, total
}

// topP keeps, in descending order, tokens while the mass before them is at most limit, so that the token that crosses
// it stays, or by the rule below while the mass up to and with them is, and the first.
func (c *computer) topP(z []float32, limit float64, lowest float32) float64 {
	before, last, at := 0.0, float32(math.Inf(1)), -1
	for first := true; first || before <= limit; first = false {
		v, ok := c.next(z)
		if !ok || z[v] < lowest || c.head.Below && !first && before+c.e[v] > limit {
			break
		}
		last, at = z[v], v
		before += c.e[v]
	}
	return c.keep(func(v int) bool { return z[v] > last || z[v] == last && v <= at })
}

// keep sets e to 0 where it may not stay and returns the rest's mass.
func (c *computer) keep(stays func(v int) bool) float64 {
	total := 0.0
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if c.e[v] > 0 && stays(v) {
				total += c.e[v]
			} else {
				c.e[v] = 0
			}
		}
	}
	return total
}

// candidates writes the largest tokens and their log-probabilities, -1 and -Inf where fewer tokens are left.
func (c *computer) candidates(z []float32, lnZ float64, ids []int32, logp []float32) {
	c.rank(z)
	for j := range ids {
		ids[j], logp[j] = -1, float32(math.Inf(-1))
		if v, ok := c.next(z); ok {
			ids[j], logp[j] = int32(v), float32(float64(z[v])-lnZ)
		}
	}
}

// rank makes a heap of the allowed tokens: descending logits, lower ids first among equals, in O(V), so that next costs
// O(log V) for as many tokens as somebody wants.
func (c *computer) rank(z []float32) {
	c.heap = c.heap[:0]
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			if !math.IsInf(float64(z[v]), -1) {
				c.heap = append(c.heap, int32(v))
			}
		}
	}
	for i := len(c.heap)/2 - 1; i >= 0; i-- {
		c.sink(z, i)
	}
}

// next takes the next token off the heap.
func (c *computer) next(z []float32) (int, bool) {
	if len(c.heap) == 0 {
		return 0, false
	}
	top, end := c.heap[0], len(c.heap)-1
	c.heap[0], c.heap = c.heap[end], c.heap[:end]
	c.sink(z, 0)
	return int(top), true
}

func (c *computer) sink(z []float32, i int) {
	h := c.heap
	before := func(a, b int32) bool { return z[a] > z[b] || z[a] == z[b] && a < b }
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && before(h[child+1], h[child]) {
			child++
		}
		if !before(h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
