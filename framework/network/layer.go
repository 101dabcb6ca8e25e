package network

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// layer is one pre-norm block on the stream x [T, d]: attention, then the feed-forward network, each added to the stream,
// with time through a shift, a scale and a gate of its own (adaLN-zero).
func (n *builder) layer(name string, x graph.Value) graph.Value {
	defer n.Scope(name)()
	if !n.c.Timed() {
		x = n.Add(x, n.attention(name+".attention", n.norm(name+".attention.norm", x)))
		return n.Add(x, n.mlp(name+".mlp", n.norm(name+".mlp.norm", x)))
	}
	m := n.modulation(name+".modulation", 6)
	y := n.modulate(n.norm(name+".attention.norm", x), m[0], m[1])
	x = n.Add(x, n.gate(n.attention(name+".attention", y), m[2]))
	y = n.modulate(n.norm(name+".mlp.norm", x), m[3], m[4])
	return n.Add(x, n.gate(n.mlp(name+".mlp", y), m[5]))
}

// attention is softmax(Q K^T / sqrt(dh) + bias) V over heads of width dh (Vaswani et al. 2017), in both directions.
func (n *builder) attention(name string, x graph.Value) graph.Value {
	defer n.Scope("attention")()
	h, dh := int64(n.c.Heads), int64(n.c.HeadSize())
	heads := func(part string) graph.Value { // [T, d] to [B, H, L, dh]
		y := n.linear(name+"."+part, x)
		if n.c.Positions == RoPE && part != "v" {
			y = n.rotate(n.rows(y, h*dh))
			return n.Transpose(n.ReshapeTo(y, n.Ints(0, 0, h, dh)), 0, 2, 1, 3)
		}
		return n.Transpose(n.rows(y, h, dh), 0, 2, 1, 3)
	}
	q, k, v := heads("q"), heads("k"), heads("v")
	q = n.Mul(q, n.Float(1/math.Sqrt(float64(dh))))
	scores := n.MatMulT(q, k, false, true, 1) // [B, H, L, L]
	if n.bias.Given() {
		scores = n.Add(scores, n.bias)
	}
	o := n.MatMul(n.Softmax(scores, -1), v) // [B, H, L, dh]
	return n.linear(name+".output", n.flat(n.Transpose(o, 0, 2, 1, 3)))
}

// mlp is the feed-forward network.
func (n *builder) mlp(name string, x graph.Value) graph.Value {
	defer n.Scope("mlp")()
	up := n.linear(name+".up", x)
	switch n.c.Activation {
	case SwiGLU:
		up = n.SwiGLU(n.linear(name+".gate", x), up)
	case SiLU:
		up = n.Silu(up)
	case ReLU2:
		r := n.Relu(up)
		up = n.Mul(r, r)
	default:
		up = n.Gelu(up)
	}
	return n.linear(name+".down", up)
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
	return n.flat(n.Add(n.Mul(y, n.Add(scale, n.Float(1))), shift))
}

// gate is x gate for x [T, d] and [B, 1, d].
func (n *builder) gate(x, gate graph.Value) graph.Value {
	return n.flat(n.Mul(n.rows(x, int64(n.c.HiddenSize)), gate))
}
