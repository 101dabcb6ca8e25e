package autodiff

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(softmax, "Softmax")
	on(logSoftmax, "LogSoftmax")
}

// softmax: dX = Y (dY - rowsum(dY Y)). Where the probabilities do nothing but weigh values, O = Y V, the row term is rowsum(dO
// O), which is work on [L, D] rather than on [L, L] (Dao et al., "FlashAttention", section 3.1).
func softmax(c *vjp) {
	dy, y := c.dy[0], c.y[0]
	if v, ok := c.again[y.Name()]; ok {
		y = v
	}
	axis := c.node.IntAttr("axis", -1)
	if c.o.Kernels && y.Type() == graph.Float32 && c.isLast(axis) {
		c.dx[0] = c.Op("mdm.SoftmaxGrad", nil, dy, y)
		return
	}
	if r := c.rowTerm(); r.Given() && c.isLast(axis) {
		c.dx[0] = c.Mul(c.Sub(dy, r), y)
		return
	}
	t := c.Mul(dy, y)
	c.dx[0] = c.Sub(t, c.Mul(y, c.ReduceSum(t, true, axis)))
}

// isLast tells whether axis is the last dimension of the result.
func (c *vjp) isLast(axis int64) bool {
	return axis == -1 || c.y[0].HasRank() && axis == int64(c.y[0].Rank()-1)
}

// rowTerm is rowsum(dO O) of the one product O = Y V that reads this node's result, or the zero Value.
func (c *vjp) rowTerm() graph.Value {
	readers := c.readers[c.node.Outputs[0]]
	if len(readers) != 1 || graph.Key(readers[0]) != "MatMul" || readers[0].Inputs[0] != c.node.Outputs[0] || readers[0].Inputs[1] == c.node.Outputs[0] {
		return graph.Value{}
	}
	p, v, o := c.y[0], c.In(readers[0], 1), c.Out(readers[0], 0)
	do := c.total(o)
	if !do.Given() || !p.HasRank() || !v.HasRank() || p.Rank() < 2 || v.Rank() < 2 || o.Rank() != p.Rank() {
		return graph.Value{}
	}
	if n := p.Rank() - 2; v.Rank() > 2 && !graph.SameShape(p.Shape()[:n], v.Shape()[:v.Rank()-2]) {
		return graph.Value{} // values that are shared or repeated: rows of O are not those of the probabilities
	}
	return c.ReduceSum(c.Mul(do, o), true, -1)
}

// logSoftmax: dX = dY - e^Y rowsum(dY).
func logSoftmax(c *vjp) {
	dy := c.dy[0]
	c.dx[0] = c.Sub(dy, c.Mul(c.Exp(c.y[0]), c.ReduceSum(dy, true, c.node.IntAttr("axis", -1))))
}

// keptOrAgain is a, or, where a are attention probabilities that are not to be kept, a computed once more from queries and
// keys. The second computation waits for d, so that the runtime neither merges it with the first nor does it early.
func (c *vjp) keptOrAgain(a, d graph.Value) graph.Value {
	if !c.o.Recompute {
		return a
	}
	n := c.Producer(a)
	if n == nil || graph.Key(n) != "Softmax" || len(c.readers[a.Name()]) != 1 {
		return a
	}
	out := c.recompute(a, d, 0)
	if !out.Given() {
		return a
	}
	c.again[a.Name()] = out
	return out
}

// recompute writes the elementwise chain that ends in v once more, up to the matrix product at its root; the zero Value where
// there is none.
func (c *vjp) recompute(v, d graph.Value, depth int) graph.Value {
	n := c.Producer(v)
	if n == nil || depth > 8 {
		return graph.Value{}
	}
	in := make([]graph.Value, len(n.Inputs))
	for i := range in {
		in[i] = c.In(n, i)
	}
	switch graph.Key(n) {
	case "MatMul", "com.microsoft.FusedMatMul":
		in[0] = c.after(in[0], d)
	case "Softmax", "Add", "Sub", "Mul", "Div", "Where", "Cast":
		found := false
		for i := range in {
			if c.leadsToProduct(in[i], depth+1) {
				if in[i] = c.recompute(in[i], d, depth+1); !in[i].Given() {
					return graph.Value{}
				}
				found = true
			}
		}
		if !found {
			return graph.Value{}
		}
	default:
		return graph.Value{}
	}
	return c.Refine(c.Op(graph.Key(n), n.Attributes, in...), v.Shape()...)
}

// leadsToProduct tells whether v is a matrix product under elementwise operators.
func (p *pass) leadsToProduct(v graph.Value, depth int) bool {
	n := p.Producer(v)
	if n == nil || depth > 8 {
		return false
	}
	switch graph.Key(n) {
	case "MatMul", "com.microsoft.FusedMatMul":
		return v.Rank() > 2
	case "Add", "Sub", "Mul", "Div", "Where", "Cast":
		return slices.ContainsFunc(n.Inputs, func(in string) bool {
			w, _ := p.Value(in)
			return p.leadsToProduct(w, depth+1)
		})
	}
	return false
}

// after is x, not before d is known: a zero that the runtime cannot foresee is added.
func (p *pass) after(x, d graph.Value) graph.Value {
	one := p.Slice(p.Op("Reshape", nil, d, p.Ints(-1)), 0, 0, 1)
	bad := p.IsNaN(one)
	zero := p.Cast(p.And(bad, p.Not(bad)), x.Type())
	return p.Refine(p.Add(x, zero), x.Shape()...)
}
