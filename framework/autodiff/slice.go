package autodiff

import (
	"math"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(slice, "Slice")
	on(pad, "Pad")
}

// slice: axes with a step are put back by index, the others by one Pad. Bounds and sizes may be known at the run only.
func slice(c *vjp) {
	x, y := c.x[0], c.y[0]
	if !c.ranked(x, c.x[1]) {
		return
	}
	count := c.x[1].Dim(0)
	if !count.IsKnown() {
		c.unsupported("the number of sliced axes is not known before the run; slice by constant axes")
		return
	}
	axes, ok := literals(c.in(3), func(i int) int64 { return int64(i) }, int(count.Size))
	steps, ok2 := literals(c.in(4), func(int) int64 { return 1 }, int(count.Size))
	if !ok || !ok2 {
		c.unsupported("its axes or steps are not known before the run; slice by constant axes and steps")
		return
	}
	d := c.dy[0]
	before := make([]graph.Value, x.Rank())
	for i := range before {
		before[i] = c.Ints(0)
	}
	plain := false
	for i, a := range axes {
		if a < 0 {
			a += int64(x.Rank())
		}
		n := c.size(x, int(a))
		start := c.start(i, n, steps[i])
		if steps[i] == 1 {
			before[a] = start
			plain = plain || !graph.SameShape(x.Shape()[a:a+1], y.Shape()[a:a+1])
			continue
		}
		// The slice is a Gather by start, start + step, ...
		ids := c.Add(start, c.Mul(c.Range(c.Op("Reshape", nil, c.size(y, int(a)), c.Ints())), c.Int(steps[i])))
		full := append([]graph.Dim{}, d.Shape()...)
		full[a] = x.Dim(int(a))
		d = c.placeAt(d, ids, x, int(a), full)
	}
	if !plain {
		c.dx[0] = d
		return
	}
	low := c.Concat(0, before...)
	high := c.Sub(c.Sub(c.Shape(x), c.Shape(d)), low)
	c.dx[0] = c.Op("Pad", nil, d, c.Concat(0, low, high))
}

// placeAt is place where the other axes of d still have the slice's sizes.
func (c *vjp) placeAt(d, ids, x graph.Value, axis int, full []graph.Dim) graph.Value {
	sizes := make([]graph.Value, x.Rank())
	for i := range sizes {
		if i == axis {
			sizes[i] = c.size(x, i)
		} else {
			sizes[i] = c.size(d, i)
		}
	}
	like := c.Refine(c.Expand(c.Scalar(0, d), c.Concat(0, sizes...)), full...)
	return c.place(d, ids, like, axis)
}

// start is the first index of sliced axis i with n elements, counted from 0, as an int64 vector of one element.
func (c *vjp) start(i int, n graph.Value, step int64) graph.Value {
	var s graph.Value
	if ints, ok := c.x[1].Ints(); ok {
		v, isNumber := literal(ints[i])
		size, known := n.Ints()
		switch {
		case isNumber && known && size[0].IsKnown():
			if v < 0 {
				v += size[0].Size
			}
			if step > 0 {
				return c.Ints(max(0, min(v, size[0].Size)))
			}
			return c.Ints(max(0, min(v, size[0].Size-1)))
		case isNumber && v == 0:
			return c.Ints(0)
		case isNumber:
			s = c.Ints(max(v, math.MinInt32))
		}
	}
	if !s.Given() {
		s = c.Slice(c.Cast(c.x[1], graph.Int64), 0, int64(i), int64(i+1))
	}
	top := n
	if step < 0 {
		top = c.Sub(n, c.Ints(1))
	}
	s = c.Select(c.Less(s, c.Ints(0)), c.Add(s, n), s)
	return c.Max(c.Min(s, top), c.Ints(0))
}

// literal reads an entry of [graph.Value.Ints] that is a number; negative ones stand in its name.
func literal(d graph.Dim) (int64, bool) {
	if d.IsKnown() {
		return d.Size, true
	}
	n, err := strconv.ParseInt(d.Name, 10, 64)
	return n, err == nil
}

// literals reads a list of n numbers, or makes one where it is left out.
func literals(v graph.Value, otherwise func(int) int64, n int) ([]int64, bool) {
	out := make([]int64, n)
	if !v.Given() {
		for i := range out {
			out[i] = otherwise(i)
		}
		return out, true
	}
	ints, ok := v.Ints()
	if !ok || len(ints) != n {
		return nil, false
	}
	for i, d := range ints {
		if out[i], ok = literal(d); !ok {
			return nil, false
		}
	}
	return out, true
}

// pad with a constant: its transpose cuts off what was added, which is a Pad by the negative widths.
func pad(c *vjp) {
	if mode := c.node.TextAttr("mode", "constant"); mode != "constant" {
		c.unsupported("padding in mode %q has no gradient rule; expected constant", mode)
		return
	}
	d := c.Op("Pad", nil, c.dy[0], c.Neg(c.x[1]), graph.Value{}, c.in(3))
	c.dx[0] = d
	if c.wants(2) {
		c.dx[2] = c.ReshapeLike(c.Sub(c.ReduceSum(c.dy[0], false), c.ReduceSum(d, false)), c.x[2])
	}
}
