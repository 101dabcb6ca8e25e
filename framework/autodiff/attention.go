package autodiff

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() { on(attention, "Attention") }

// attention (ONNX's operator, opset 23): with probabilities P, dV = P^T dO, dS = P (dO V^T - rowsum(dO O)), dQ = a dS K, dK = a
// dS^T Q. P is the operator's fourth output, kept or computed again.
func attention(c *vjp) {
	q, k, v := c.x[0], c.x[1], c.x[2]
	if !c.ranked(q, k, v, c.in(3)) || !c.supported() {
		return
	}
	p := c.probabilities()
	split := func(x graph.Value, key string) graph.Value {
		if x.Rank() == 4 {
			return x
		}
		n := c.node.IntAttr(key, 0)
		size, _ := x.Dim(2).Over(graph.Known(n))
		parts := c.Refine(c.Op("Reshape", nil, x, c.Ints(0, 0, n, -1)), x.Dim(0), x.Dim(1), graph.Known(n), size)
		return c.Transpose(parts, 0, 2, 1, 3)
	}
	merge := func(d, x graph.Value) graph.Value {
		if x.Rank() == 4 {
			return d
		}
		return c.Op("Reshape", nil, c.Transpose(d, 0, 2, 1, 3), c.Ints(0, 0, -1))
	}
	q4, k4, v4 := split(q, "q_num_heads"), split(k, "kv_num_heads"), split(v, "kv_num_heads")
	do, o := split(c.dy[0], "q_num_heads"), split(c.y[0], "q_num_heads")
	group := int64(1)
	if h, ok := q4.Dim(1).Over(k4.Dim(1)); !ok || !h.IsKnown() {
		c.unsupported("the numbers of heads of %s and %s are not known before the run; export with constant ones", q, k)
		return
	} else if group = h.Size; group > 1 {
		k4, v4 = c.repeat(k4, group), c.repeat(v4, group)
	}
	alpha := float64(c.node.FloatAttr("scale", 0))
	if alpha == 0 {
		if !q4.Dim(3).IsKnown() {
			c.unsupported("the size of a head of %s is not known before the run; export with a constant one", q)
			return
		}
		alpha = 1 / math.Sqrt(float64(q4.Dim(3).Size))
	}
	ds := c.Mul(c.Sub(c.product(do, v4, false, true, 1), c.ReduceSum(c.Mul(do, o), true, -1)), p)
	if c.want[0] {
		c.dx[0] = merge(c.product(ds, k4, false, false, alpha), q)
	}
	if c.want[1] {
		c.dx[1] = merge(c.regroup(c.product(ds, q4, true, false, alpha), group), k)
	}
	if c.want[2] {
		c.dx[2] = merge(c.regroup(c.product(p, do, true, false, 1), group), v)
	}
	if c.wants(3) {
		c.dx[3] = c.sumTo(ds, c.x[3], []graph.Dim{q4.Dim(0), q4.Dim(1), q4.Dim(2), k4.Dim(2)})
	}
}

// supported looks for the forms of the operator that have no rule.
func (c *vjp) supported() bool {
	for i := 1; i < len(c.dy); i++ {
		if c.dy[i].Given() {
			c.unsupported("the gradient of its output %d has no rule; write the attention with MatMul and Softmax", i)
			return false
		}
	}
	switch {
	case c.in(4).Given() || c.in(5).Given():
		c.unsupported("a cache of past keys and values has no gradient rule; export without one")
	case c.node.FloatAttr("softcap", 0) != 0:
		c.unsupported("softcap has no gradient rule; write the attention with MatMul, Tanh and Softmax")
	case len(c.node.Outputs) > 3 && c.node.Outputs[3] != "" && c.node.IntAttr("qk_matmul_output_mode", 0) != afterSoftmax:
		c.unsupported("its fourth output is not the probabilities; leave it out")
	default:
		return true
	}
	return false
}

// afterSoftmax is the mode in which the operator's fourth output are the probabilities.
const afterSoftmax = 3

// probabilities [B, H, L, S] come from the forward node, or from a second one.
func (c *vjp) probabilities() graph.Value {
	node := c.node
	if c.o.Recompute {
		in := append([]graph.Value{}, c.x...)
		in[0] = c.after(in[0], c.dy[0])
		node = c.Producer(c.Op("Attention", node.Attributes, in...))
	}
	if len(node.Outputs) < 4 || node.Outputs[3] == "" {
		node.Attributes = append(without(node.Attributes, "qk_matmul_output_mode"), graph.Int("qk_matmul_output_mode", afterSoftmax))
		had := append([]string{}, node.Outputs...)
		c.Extend(node, 4)
		for i := 1; i < 3; i++ { // keys and values are not asked for
			if i >= len(had) || had[i] == "" {
				node.Outputs[i] = ""
			}
		}
	}
	return c.Out(node, 3)
}

func without(attributes []*graph.Attribute, name string) []*graph.Attribute {
	out := make([]*graph.Attribute, 0, len(attributes)+1)
	for _, a := range attributes {
		if a.Name != name {
			out = append(out, a)
		}
	}
	return out
}

// repeat gives each group of query heads its key head: [B, H, L, D] to [B, H*group, L, D].
func (c *vjp) repeat(x graph.Value, group int64) graph.Value {
	wide := c.Expand(c.Unsqueeze(x, 2), c.Concat(0, c.Ints(1, 1, group, 1, 1)))
	s := x.Shape()
	return c.Refine(c.Op("Reshape", nil, wide, c.Concat(0, c.size(x, 0), c.Ints(-1), c.size(x, 2), c.size(x, 3))),
		s[0], s[1].Times(graph.Known(group)), s[2], s[3])
}

// regroup adds up what repeat repeated.
func (c *vjp) regroup(d graph.Value, group int64) graph.Value {
	if group == 1 {
		return d
	}
	split := c.Op("Reshape", nil, d, c.Concat(0, c.size(d, 0), c.Ints(-1, group), c.size(d, 2), c.size(d, 3)))
	return c.ReduceSum(split, false, 2)
}
