package network

import "github.com/mdmhost/mdmhost/framework/graph"

// rateBound is the largest logarithm of a rate.
const rateBound = 16

// Rates tells whether the network is an insertion model's, which rates the gaps of a row.
func (c Config) Rates() bool { return c.Gaps != NoGaps }

// outputs are what the network gives, by name and in order.
func (c Config) outputs() []graph.Port {
	port := func(name string, shape ...any) graph.Port {
		return graph.Port{Name: name, Type: graph.Float32, Shape: graph.Dims(shape...)}
	}
	switch c.Head {
	case HeadKeep:
		return []graph.Port{port("keep", "B", "L")}
	case HeadOrder:
		return []graph.Port{port("order", "B", "L", 2)}
	}
	out := []graph.Port{port("logits", "B", "L", c.VocabSize)}
	if c.Rates() {
		out = append(out, port("insertion_rate", "B", graph.Named("L").Plus(graph.Known(1))))
	}
	if c.UnmaskRate {
		out = append(out, port("unmask_rate", "B", "L"))
	}
	return out
}

// score is a head of numbers beside the logits, and how many it gives for a position.
type score struct {
	name string
	n    int64
}

// scores are the heads that read the last hidden state through a layer of their own.
func (c Config) scores() (out []score) {
	if c.Head == HeadOrder {
		return []score{{"order", 2}}
	}
	if c.Rates() {
		out = append(out, score{"insertion", 1})
	}
	if c.UnmaskRate {
		out = append(out, score{"unmask", 1})
	}
	return out
}

// scores adds the parameters of those heads. Their last layers start at zero: every rate at 1, where the rate of unmasking of a
// masked model is, and all speeds equal, so that training begins without an order.
func (l *lister) scores() {
	d := int64(l.config.HiddenSize)
	for _, s := range l.config.scores() {
		l.linear(s.name+".up", d, d, 1, true)
		l.add(s.name+".down.weight", true, Init{Kind: Zeros}, s.n, d)
		l.add(s.name+".down.bias", false, Init{Kind: Zeros}, s.n)
	}
}

// heads turns the stream [T, d] into what the network gives. All heads read the same normalised state.
func (n *builder) heads(x graph.Value) map[string]graph.Value {
	defer n.Scope("head")()
	if !n.c.PostNorm {
		x = n.norm("norm", x)
	}
	if n.c.Timed() {
		m := n.modulation("norm.modulation", 2)
		x = n.modulate(x, m[0], m[1])
	}
	switch n.c.Head {
	case HeadKeep:
		return map[string]graph.Value{"keep": n.rows(n.linear("head", x))}
	case HeadOrder:
		return map[string]graph.Value{"order": n.rows(n.score("order", x), 2)}
	}
	out := map[string]graph.Value{"logits": n.rows(n.logits(x), int64(n.c.VocabSize))}
	if n.c.Rates() {
		out["insertion_rate"] = n.gaps(n.rate("insertion", x))
	}
	if n.c.UnmaskRate {
		out["unmask_rate"] = n.rate("unmask", x)
	}
	return out
}

// logits are [T, V] of the last hidden state [T, d].
func (n *builder) logits(x graph.Value) graph.Value {
	if n.c.LogitsShift {
		y := n.rows(x, int64(n.c.HiddenSize))
		x = n.flat(n.Concat(1, n.Slice(y, 1, 0, 1), n.Slice(y, 1, 0, -1)), n.c.HiddenSize)
	}
	if n.c.HeadTransform {
		x = n.norm("head.norm", n.activate(n.c.PlainActivation(), n.linear("head.transform", x)))
	}
	weight := n.parameter("head.weight")
	if n.c.Tied {
		weight = n.parameter("embeddings.tokens")
	}
	y := n.Gemm(x, weight, graph.Value{}, false, true)
	if n.c.HeadBias {
		y = n.Add(y, n.parameter("head.bias"))
	}
	return y
}

// score is a layer of width d, GELU, and some numbers for each position [T, n] (LoFlexMDM, appendix: the scalar heads).
func (n *builder) score(name string, x graph.Value) graph.Value {
	defer n.Scope(name)()
	return n.linear(name+".down", n.Gelu(n.linear(name+".up", x)))
}

// rate is exp(c tanh(s / c)) [B, L] of a score s, c = 16: above 0, as a multiplier of a hazard must be, and between 1.1e-7 and 8.9e6.
// Without a bound one score of 89 makes float32's exp infinite, and with it the loss of the whole batch. A sharp bound has no slope
// beyond its ends, so that a score that got there could not come back; this one always has, and is the identity near 0.
func (n *builder) rate(name string, x graph.Value) graph.Value {
	s := n.score(name, x)
	return n.rows(n.Exp(n.Mul(n.Tanh(n.Mul(s, n.Float(1.0/rateBound))), n.Float(rateBound))))
}

// gaps are the rates of all gaps [B, L+1] from those before each position [B, L]: 0 before padding and behind the row.
func (n *builder) gaps(rate graph.Value) graph.Value {
	if n.mask.Given() {
		rate = n.Mul(rate, n.Cast(n.mask, graph.Float32))
	}
	return n.Op("Pad", nil, rate, n.Ints(0, 0, 0, 1))
}
