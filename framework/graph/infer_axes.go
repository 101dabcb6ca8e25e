package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferSqueeze, "Squeeze")
	register(inferUnsqueeze, "Unsqueeze")
	register(inferReduce, "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceL1",
		"ReduceLogSumExp", "ReduceLogSum")
	register(inferArg, "ArgMax", "ArgMin")
}

// axes reads axes from input i or, in older operators, from the attribute. ok is false where they are not known before the run.
func (c *call) axes(i int) (axes []int64, given, ok bool) {
	if a := c.attr("axes"); a != nil {
		return a.Ints, true, true
	}
	v := c.input(i)
	if !v.Given() {
		return nil, false, true
	}
	ints, known := v.Ints()
	if !known {
		return nil, true, false
	}
	for _, d := range ints {
		n, literal := d.literal()
		if !literal {
			return nil, true, false
		}
		axes = append(axes, n)
	}
	return axes, true, true
}

func inferSqueeze(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	axes, given, ok := c.axes(1)
	if !x.HasRank() || !ok {
		c.unranked(0, x.Type())
		return nil
	}
	drop := make([]bool, x.Rank())
	for _, a := range axes {
		n, err := axis(a, x.Rank())
		if err != nil {
			return err
		}
		if d := x.Dim(n); d.IsKnown() && d.Size != 1 {
			return fmt.Errorf("axis %d has size %s; expected 1, use Reshape or a reduction", a, d)
		}
		drop[n] = true
	}
	out := []Dim{}
	for i, d := range x.Shape() {
		if !given && d.Size == 1 {
			continue
		}
		if !drop[i] {
			out = append(out, d)
		}
	}
	c.set(0, x.Type(), out)
	c.out[0].ints = flatInts(x, len(out))
	return nil
}

func inferUnsqueeze(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	axes, _, ok := c.axes(1)
	if !x.HasRank() || !ok {
		c.unranked(0, x.Type())
		return nil
	}
	rank := x.Rank() + len(axes)
	ones := make([]bool, rank)
	for _, a := range axes {
		n, err := axis(a, rank)
		if err != nil {
			return err
		}
		if ones[n] {
			return fmt.Errorf("axis %d is given twice; expected each axis once", a)
		}
		ones[n] = true
	}
	out, from := make([]Dim, rank), 0
	for i := range out {
		if ones[i] {
			out[i] = Known(1)
			continue
		}
		out[i] = x.Dim(from)
		from++
	}
	c.set(0, x.Type(), out)
	c.out[0].ints = flatInts(x, len(out))
	return nil
}

func inferReduce(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	axes, given, ok := c.axes(1)
	keep := c.intAttr("keepdims", 1) != 0
	if !x.HasRank() || !ok && !keep {
		c.unranked(0, x.Type())
		return nil
	}
	if !ok {
		c.set(0, x.Type(), slices.Repeat([]Dim{unknown}, x.Rank()))
		return nil
	}
	gone := make([]bool, x.Rank())
	for _, a := range axes {
		n, err := axis(a, x.Rank())
		if err != nil {
			return err
		}
		gone[n] = true
	}
	if (!given || len(axes) == 0) && c.intAttr("noop_with_empty_axes", 0) == 0 {
		for i := range gone {
			gone[i] = true
		}
	}
	out := []Dim{}
	for i, d := range x.Shape() {
		switch {
		case !gone[i]:
			out = append(out, d)
		case keep:
			out = append(out, Known(1))
		}
	}
	c.set(0, x.Type(), out)
	return nil
}

func inferArg(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, Int64)
		return nil
	}
	a, err := axis(c.intAttr("axis", 0), x.Rank())
	if err != nil {
		return err
	}
	out := slices.Clone(x.Shape())
	if c.intAttr("keepdims", 1) != 0 {
		out[a] = Known(1)
	} else {
		out = slices.Delete(out, a, a+1)
	}
	c.set(0, Int64, out)
	return nil
}
