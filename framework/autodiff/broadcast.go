package autodiff

import (
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Broadcasting repeats an operand; its transpose adds the repetitions up.

// fit undoes the broadcast of operand i against the node's other operands: d has the shape of the result.
func (c *vjp) fit(d graph.Value, i int) graph.Value {
	var others [][]graph.Dim
	for j, v := range c.x {
		if j != i && v.Given() {
			if !c.ranked(v) {
				return graph.Value{}
			}
			others = append(others, v.Shape())
		}
	}
	if !c.ranked(c.x[i]) {
		return graph.Value{}
	}
	return c.sumTo(d, c.x[i], others...)
}

// sumTo adds d up to the shape of x, where d has the shape of x broadcast against the others. Dimensions that cannot be
// compared before the run are compared at the run.
func (p *pass) sumTo(d, x graph.Value, others ...[]graph.Dim) graph.Value {
	rank := x.Rank()
	for _, s := range others {
		rank = max(rank, len(s))
	}
	lead := rank - x.Rank()
	var axes []int64 // in the result, that were repeated
	open := false
	for i := range rank {
		if i < lead {
			axes = append(axes, int64(i))
			continue
		}
		n := x.Dim(i - lead)
		if n.IsKnown() && n.Size != 1 {
			continue
		}
		for _, s := range others {
			j := i - rank + len(s)
			if j < 0 || s[j].Size == 1 || graph.SameShape(s[j:j+1], []graph.Dim{n}) {
				continue
			}
			if !n.IsKnown() {
				open = true
			} else {
				axes = append(axes, int64(i))
			}
			break
		}
	}
	if open {
		if lead > 0 {
			d = p.ReduceSum(d, false, axes[:lead]...)
		}
		at := p.Op("Reshape", nil, p.Op("NonZero", nil, p.Cast(p.Equal(p.Shape(x), p.Int(1)), graph.Int64)), p.Ints(-1))
		return p.Op("ReduceSum", []*graph.Attribute{graph.Int("keepdims", 1), graph.Int("noop_with_empty_axes", 1)}, d, at)
	}
	return p.sumOver(d, axes, rank, x)
}

// sumOver adds d, of the given rank, up over axes and gives it the shape of like. Sums over leading axes and over the last but
// one are products with ones: ONNX Runtime's ReduceSum is several times slower there.
func (p *pass) sumOver(d graph.Value, axes []int64, rank int, like graph.Value) graph.Value {
	k := len(axes)
	products := d.Type() == graph.Float32 || d.Type() == graph.Float64
	switch {
	case k == 0:
		return d
	case k < rank && axes[k-1] == int64(k-1) && products:
		rows := p.Op("Flatten", []*graph.Attribute{graph.Int("axis", int64(k))}, d) // [N, R]
		d = p.Gemm(p.row(rows), rows, graph.Value{}, false, false)
	case k == 1 && rank > 2 && axes[0] == int64(rank-2) && products && d.Dim(-2).IsKnown():
		return p.MatMul(p.row(d), d)
	default:
		d = p.ReduceSum(d, true, axes...)
		if rank == like.Rank() {
			return d
		}
	}
	return p.ReshapeLike(d, like)
}

// row is [1, N] of ones for a matrix [..., N, R].
func (p *pass) row(m graph.Value) graph.Value {
	n := m.Dim(-2)
	key := m.Type().String() + " " + n.String()
	named := n.IsKnown() || n.Name != "" && !strings.Contains(n.Name, "?")
	if v, ok := p.ones[key]; ok && named {
		return v
	}
	shape := p.Ints(1, n.Size)
	if !n.IsKnown() {
		shape = p.Concat(0, p.Ints(1), p.Slice(p.Shape(m), 0, int64(m.Rank()-2), int64(m.Rank()-1)))
	}
	v := p.Expand(p.Scalar(1, m), shape)
	if named {
		p.ones[key] = v
	}
	return v
}

// size is dimension i of v as an int64 vector of one element, a constant where it is known.
func (p *pass) size(v graph.Value, i int) graph.Value {
	if d := v.Dim(i); d.IsKnown() {
		return p.Ints(d.Size)
	}
	if i < 0 {
		i += v.Rank()
	}
	return p.Slice(p.Shape(v), 0, int64(i), int64(i+1))
}
