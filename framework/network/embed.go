package network

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// embed is the stream's start [T, d]: the sum of the embeddings, normalised and brought to width d where the config says so.
func (n *builder) embed() graph.Value {
	defer n.Scope("embeddings")()
	x := n.embeddings()
	if n.c.TypeVocab > 0 {
		x = n.Add(x, n.Slice(n.parameter("embeddings.types"), 0, 0, 1))
	}
	if n.c.EmbeddingNorm {
		x = n.norm("embeddings.norm", x)
	}
	if n.c.EmbeddingSize > 0 {
		x = n.linear("embeddings.projection", x)
	}
	return x
}

// embeddings are [T, E]: tokens, whether they stand for masks where the network is told, and positions where they are added.
func (n *builder) embeddings() graph.Value {
	t := n.ids.Dim(0).Times(n.ids.Dim(1))
	x := n.Gather(n.parameter("embeddings.tokens"), n.Reshape(n.ids, t), 0)
	if n.c.MaskedInput {
		x = n.Add(x, n.Gather(n.parameter("embeddings.masked"), n.Reshape(n.masked, t), 0))
	}
	table := n.positionTable()
	if !table.Given() {
		return x
	}
	if n.positions.Given() {
		table = n.Gather(table, n.Reshape(n.positions, t), 0)
		return n.Add(x, table)
	}
	return n.flat(n.Add(n.rows(x, int64(n.c.EmbeddingWidth())), n.first(table)), n.c.EmbeddingWidth())
}

// positionTable is the embedding of every position [max_position_embeddings, E], or none.
func (n *builder) positionTable() graph.Value {
	if n.c.Positions == Learned {
		return n.parameter("embeddings.positions")
	}
	var sum graph.Value
	for _, t := range n.c.PositionTables {
		index := make([]int64, len(t.Index))
		for i, at := range t.Index {
			index[i] = int64(at)
		}
		part := n.Gather(n.parameter("embeddings.positions."+t.Name), n.Ints(index...), 0)
		if sum.Given() {
			part = n.Add(sum, part)
		}
		sum = part
	}
	return sum
}

// first is the rows of the table for positions 0 to L-1.
func (n *builder) first(table graph.Value) graph.Value {
	length := n.ids.Dim(1)
	switch {
	case length.Size == int64(n.c.MaxPositions):
		return table
	case length.IsKnown():
		return n.Slice(table, 0, 0, length.Size)
	}
	return n.Op("Slice", nil, table, n.Ints(0), n.Slice(n.sizes, 0, 1, 2), n.Ints(0))
}

// rotate turns q or k [B, L, H dh] by its positions: head by head, number i of the first half with number i of the second, by
// position * base^(-2i/dh) (Su et al. 2021, eq. 34). It is ONNX Runtime's operator, which reads before the transpose.
func (n *builder) rotate(x graph.Value, base float64) graph.Value {
	positions := n.positions
	if !positions.Given() {
		positions = n.Ints(0) // the first one; the others follow
	}
	cos, sin := n.rotations(base)
	return n.Op(graph.Contrib+".RotaryEmbedding", nil, x, positions, cos, sin)
}

// rotations are the cosines and sines of every position's angles [max_position_embeddings, dh/2], once a graph and base.
func (n *builder) rotations(base float64) (cos, sin graph.Value) {
	half, longest := n.c.HeadSize()/2, n.c.MaxPositions
	if n.biased { // the operator wants a table as long as the row, which may hold shadows of all positions
		longest *= 2
	}
	name := fmt.Sprintf("rotary_%dx%d_%g.", longest, half, base)
	cos, known := n.Value(name + "cos")
	if known {
		sin, _ = n.Value(name + "sin")
		return cos, sin
	}
	frequencies := make([]float64, half)
	for i := range frequencies {
		frequencies[i] = math.Pow(base, -float64(i)/float64(half))
	}
	c, s := make([]float32, 0, longest*half), make([]float32, 0, longest*half)
	for p := range longest {
		for _, f := range frequencies {
			y, x := math.Sincos(float64(p) * f)
			c, s = append(c, float32(x)), append(s, float32(y))
		}
	}
	shape := []int64{int64(longest), int64(half)}
	return n.Initializer(graph.OfFloats(name+"cos", shape, c)), n.Initializer(graph.OfFloats(name+"sin", shape, s))
}

// condition embeds time: sin and cos of 1000 t at width n, then a network of one hidden layer 4 n (MD4's code), whose
// sigmoid every modulation reads.
func (n *builder) condition() {
	if !n.c.Timed() {
		return
	}
	defer n.Scope("time")()
	half := n.c.TimeSize / 2
	frequencies := n.Floats([]int64{1, int64(half)}, timeFrequencies(half))
	angle := n.Mul(n.Mul(n.Unsqueeze(n.time, 1), n.Float(1000)), frequencies) // [B, n/2]
	x := n.Concat(1, n.Sin(angle), n.Cos(angle))
	x = n.linear("time.down", n.Silu(n.linear("time.up", x)))
	n.cond = n.Sigmoid(x)
}
