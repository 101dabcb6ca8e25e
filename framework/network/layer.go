package network

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// layer is block i on the stream x [T, d]: attention, then the feed-forward network, each added to the stream: of the
// normalised stream with time through a shift, a scale and a gate of its own (adaLN-zero), or without; or normalised behind the sum.
func (n *builder) layer(i int, x graph.Value) graph.Value {
	defer n.Scope(fmt.Sprintf("layers.%d", i))()
	name := fmt.Sprintf("layers.%d", n.c.LayerSet(i))
	switch {
	case n.c.PostNorm:
		x = n.norm(name+".attention.norm", n.Add(x, n.attention(i, name+".attention", x)))
		return n.norm(name+".mlp.norm", n.Add(x, n.mlp(name+".mlp", x)))
	case !n.c.Timed():
		y := x
		if !n.c.SkipFirstNorm || i > 0 {
			y = n.norm(name+".attention.norm", x)
		}
		x = n.Add(x, n.attention(i, name+".attention", y))
		return n.Add(x, n.mlp(name+".mlp", n.norm(name+".mlp.norm", x)))
	}
	m := n.modulation(name+".modulation", 6)
	y := n.modulate(n.norm(name+".attention.norm", x), m[0], m[1])
	x = n.Add(x, n.gate(n.attention(i, name+".attention", y), m[2]))
	y = n.modulate(n.norm(name+".mlp.norm", x), m[3], m[4])
	return n.Add(x, n.gate(n.mlp(name+".mlp", y), m[5]))
}

// mlp is the feed-forward network.
func (n *builder) mlp(name string, x graph.Value) graph.Value {
	defer n.Scope("mlp")()
	up := n.linear(name+".up", x)
	switch {
	case n.c.Activation == SwiGLU:
		up = n.SwiGLU(n.linear(name+".gate", x), up)
	case n.c.Gated():
		up = n.Mul(n.activate(n.c.PlainActivation(), n.linear(name+".gate", x)), up)
	default:
		up = n.activate(n.c.Activation, up)
	}
	return n.linear(name+".down", up)
}

// activate is an activation without a gate.
func (n *builder) activate(kind string, x graph.Value) graph.Value {
	switch kind {
	case SiLU:
		return n.Silu(x)
	case ReLU:
		return n.Relu(x)
	case ReLU2:
		r := n.Relu(x)
		return n.Mul(r, r)
	case GELUTanh:
		return n.GeluTanh(x)
	}
	return n.Gelu(x)
}

// modulation is k vectors [B, 1, d] that depend on time.
func (n *builder) modulation(name string, k int) []graph.Value {
	defer n.Scope("modulation")()
	d := int64(n.c.HiddenSize)
	sizes := make([]int64, k)
	for i := range sizes {
		sizes[i] = d
	}
	return n.Split(n.Unsqueeze(n.linear(name, n.cond), 1), -1, sizes...)
}

// modulate is x (1 + scale) + shift for x [T, d] and [B, 1, d].
func (n *builder) modulate(x, shift, scale graph.Value) graph.Value {
	y := n.rows(x, int64(n.c.HiddenSize))
	return n.flat(n.Add(n.Mul(y, n.Add(scale, n.Float(1))), shift), n.c.HiddenSize)
}

// gate is x gate for x [T, d] and [B, 1, d].
func (n *builder) gate(x, gate graph.Value) graph.Value {
	return n.flat(n.Mul(n.rows(x, int64(n.c.HiddenSize)), gate), n.c.HiddenSize)
}
