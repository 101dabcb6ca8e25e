package autodiff

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// reduced is a reduction on its way back: y and dy with the reduced axes as dimensions of size 1.
type reduced struct{ x, y, dy graph.Value }

func init() {
	reduction("ReduceSum", func(c *vjp, r reduced) graph.Value { return r.dy })
	reduction("ReduceMean", func(c *vjp, r reduced) graph.Value { return c.Div(r.dy, c.count(r)) })
	reduction("ReduceMax", tied)
	reduction("ReduceMin", tied)
	reduction("ReduceSumSquare", func(c *vjp, r reduced) graph.Value { return c.Mul(r.x, c.Mul(r.dy, c.num(2))) })
	reduction("ReduceL1", func(c *vjp, r reduced) graph.Value { return c.Mul(c.Sign(r.x), r.dy) })
	reduction("ReduceL2", func(c *vjp, r reduced) graph.Value { // x / |x|, and 0 for x = 0
		return c.Mul(r.x, c.Div(r.dy, c.Select(c.Equal(r.y, c.num(0)), c.num(1), r.y)))
	})
	reduction("ReduceLogSum", func(c *vjp, r reduced) graph.Value { return c.Div(r.dy, c.Exp(r.y)) })
	reduction("ReduceLogSumExp", func(c *vjp, r reduced) graph.Value { // e^(x - y), and 0 where every x is -Inf
		y := c.Select(c.Equal(r.y, c.num(math.Inf(-1))), c.num(0), r.y)
		return c.Mul(c.Exp(c.Sub(r.x, y)), r.dy)
	})
	reduction("ReduceProd", productOfOthers)
}

// reduction adds the rule of a reduction; what f returns is broadcast to the shape of x.
func reduction(key string, f func(c *vjp, r reduced) graph.Value) {
	on(func(c *vjp) {
		x := c.x[0]
		if !c.ranked(x) {
			return
		}
		axes, all, ok := c.axes()
		if !ok {
			return
		}
		r := reduced{x: x, y: c.y[0], dy: c.dy[0]}
		if axes == nil && all && c.node.IntAttr("noop_with_empty_axes", 0) != 0 { // elementwise: reductions over nothing
			c.dx[0] = f(c, r)
			return
		}
		if c.node.IntAttr("keepdims", 1) == 0 {
			if all {
				for i := range x.Rank() {
					axes = append(axes, int64(i))
				}
			}
			if len(axes) > 0 {
				r.y, r.dy = c.Unsqueeze(r.y, axes...), c.Unsqueeze(r.dy, axes...)
			}
		}
		c.dx[0] = c.ExpandLike(f(c, r), x)
	}, key)
}

// axes are the node's reduced axes; all: none were given. Axes that are known only at the run serve where the reduced dimensions
// stay.
func (c *vjp) axes() (axes []int64, all, ok bool) {
	if a := c.node.Attribute("axes"); a != nil {
		return a.Ints, len(a.Ints) == 0, true
	}
	v := c.in(1)
	if !v.Given() {
		return nil, true, true
	}
	ints, known := v.Ints()
	for _, d := range ints {
		n, isNumber := literal(d)
		known = known && isNumber
		axes = append(axes, n)
	}
	switch {
	case known:
		return axes, len(axes) == 0, true
	case c.node.IntAttr("keepdims", 1) != 0:
		return nil, false, true
	}
	c.unsupported("the axes %s are not known before the run; reduce over constant axes, or with keepdims", v)
	return nil, false, false
}

// count is how many elements each result was made of, a scalar.
func (c *vjp) count(r reduced) graph.Value {
	if q, ok := graph.Volume(r.x.Shape()).Over(graph.Volume(r.y.Shape())); ok && q.IsKnown() {
		return c.num(float64(q.Size))
	}
	return c.Div(c.Cast(c.Op("Size", nil, r.x), r.x.Type()), c.Cast(c.Op("Size", nil, r.y), r.x.Type()))
}

// over sums v over the axes that this node reduced, which stay.
func (c *vjp) over(v graph.Value) graph.Value {
	attributes := []*graph.Attribute{graph.Int("keepdims", 1), graph.Int("noop_with_empty_axes", c.node.IntAttr("noop_with_empty_axes", 0))}
	if a := c.node.IntsAttr("axes"); len(a) > 0 {
		return c.Op("ReduceSum", attributes, v, c.Ints(a...))
	}
	return c.Op("ReduceSum", attributes, v, c.in(1))
}

// tied: equal extremes share evenly.
func tied(c *vjp, r reduced) graph.Value {
	hit := c.Cast(c.Equal(r.x, r.y), r.x.Type())
	return c.Mul(hit, c.Div(r.dy, c.over(hit)))
}

// productOfOthers: the slope by one factor is the product of the others, also where factors are zero.
func productOfOthers(c *vjp, r reduced) graph.Value {
	zero := c.Equal(r.x, c.num(0))
	z := c.Cast(zero, r.x.Type())
	safe := c.Select(zero, c.num(1), r.x)
	attributes := []*graph.Attribute{graph.Int("keepdims", 1)}
	for _, a := range c.node.Attributes {
		if a.Name != "keepdims" {
			attributes = append(attributes, a)
		}
	}
	others := c.Div(c.Op("ReduceProd", attributes, safe, c.in(1)), safe)
	zeros := c.over(z)
	none, one := c.Cast(c.Equal(zeros, c.num(0)), r.x.Type()), c.Cast(c.Equal(zeros, c.num(1)), r.x.Type())
	return c.Mul(c.Mul(r.dy, others), c.Add(none, c.Mul(one, z)))
}
