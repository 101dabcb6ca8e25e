package network

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// unseen is the bias of a position that is not attended to: it outweighs any score, leaves nothing of it after exp, and is within float16's range.
const unseen = -3e4

// attention is softmax(Q K^T / sqrt(dh) + bias) V over heads of width dh (Vaswani et al. 2017), in both directions, for layer i. Where several heads of
// queries share one of keys and values, their rows stand one below the other in one product, so that nothing is repeated.
func (n *builder) attention(i int, name string, x graph.Value) graph.Value {
	defer n.Scope("attention")()
	h, kv, dh := int64(n.c.Heads), int64(n.c.KeyHeads()), int64(n.c.HeadSize())
	heads := func(part string, h int64) graph.Value { // [T, h dh] to [B, h, L, dh]
		y := n.linear(name+"."+part, x)
		if n.c.Positions == RoPE && part != "v" {
			y = n.rotate(n.rows(y, h*dh), n.c.LayerRopeBase(i))
			return n.Transpose(n.ReshapeTo(y, n.Ints(0, 0, h, dh)), 0, 2, 1, 3)
		}
		return n.Transpose(n.rows(y, h, dh), 0, 2, 1, 3)
	}
	q, k, v := heads("q", h), heads("k", kv), heads("v", kv)
	q = n.Mul(q, n.Float(1/math.Sqrt(float64(dh))))
	batch, length := n.ids.Dim(0), n.ids.Dim(1)
	stacked := length.Times(graph.Known(h / kv)) // rows of queries for a head of keys
	if kv < h {
		q = n.Reshape(q, batch, graph.Known(kv), stacked, graph.Known(dh))
	}
	scores := n.MatMulT(q, k, false, true, 1) // [B, kv, h/kv L, L]
	if kv < h {
		scores = n.Reshape(scores, batch, graph.Known(h), length, length)
	}
	bias := n.bias
	if n.c.Local(i) {
		bias = n.window
	}
	if bias.Given() {
		scores = n.Add(scores, bias)
	}
	p := n.Softmax(scores, -1) // [B, h, L, L]
	if kv < h {
		p = n.Reshape(p, batch, graph.Known(kv), stacked, length)
	}
	o := n.MatMul(p, v)
	if kv < h {
		o = n.Reshape(o, batch, graph.Known(h), length, graph.Known(dh))
	}
	return n.linear(name+".output", n.flat(n.Transpose(o, 0, 2, 1, 3), n.c.Heads*n.c.HeadSize()))
}

// within is the bias of local layers [1 or B, 1, L, L]: that of the others, and what lies outside the window unseen; once a graph.
func (n *builder) within() graph.Value {
	if n.c.LocalAttention == 0 || n.c.GlobalEvery == 1 {
		return graph.Value{}
	}
	defer n.Scope("window")()
	at := n.positions // [B, L]
	if !at.Given() {
		at = n.Unsqueeze(n.Range(n.Op("Squeeze", nil, n.Slice(n.sizes, 0, 1, 2))), 0) // [1, L]
	}
	distance := n.Abs(n.Sub(n.Unsqueeze(at, 1, 3), n.Unsqueeze(at, 1, 2))) // [1 or B, 1, L, L]
	near := n.LessOrEqual(distance, n.Int(int64(n.c.LocalAttention/2)))
	bias := n.bias
	if !bias.Given() {
		bias = n.Float(0)
	}
	return n.Select(near, bias, n.Float(unseen))
}
