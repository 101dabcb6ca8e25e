package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferReshape, "Reshape")
	register(inferFlatten, "Flatten")
	register(inferExpand, "Expand")
	register(inferTranspose, "Transpose")
	register(inferTile, "Tile")
}

// maxRank bounds the dimensions of a tensor whose shape is known at the run only.
const maxRank = 64

// ofInts gives output 0 the shape that input i holds, or only its rank, or nothing.
func (c *call) ofInts(i int, typ Type) error {
	v := c.input(i)
	if t := v.Type(); t != Int64 && t != Undefined {
		return fmt.Errorf("the shape is %s; expected int64", t)
	}
	if ints, ok := v.Ints(); ok {
		for _, d := range ints {
			if n, ok := d.literal(); ok && n < 0 {
				return fmt.Errorf("the shape holds %d; expected sizes", n)
			}
		}
		c.set(0, typ, ints)
		return nil
	}
	if v.HasRank() && v.Rank() == 1 && v.Dim(0).IsKnown() {
		if v.Dim(0).Size > maxRank {
			return fmt.Errorf("the shape has %s dimensions; expected at most %d", v.Dim(0), maxRank)
		}
		c.set(0, typ, slices.Repeat([]Dim{unknown}, int(v.Dim(0).Size)))
		return nil
	}
	c.unranked(0, typ)
	return nil
}

func inferReshape(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	target, ok := c.in[1].Ints()
	if !ok {
		return c.ofInts(1, x.Type())
	}
	out, from := slices.Clone(target), -1
	rest := Known(1)
	for i, d := range target {
		n, literal := d.literal()
		switch {
		case literal && n == -1 && from < 0:
			from = i
			continue
		case literal && n < 0:
			return fmt.Errorf("target shape %s; expected sizes and at most one -1", shapeText(target))
		case literal && n == 0 && c.intAttr("allowzero", 0) == 0:
			if x.HasRank() && i >= x.Rank() {
				return fmt.Errorf("target shape %s copies dimension %d of a tensor of rank %d; expected a size in the place of 0", shapeText(target), i, x.Rank())
			}
			out[i] = x.Dim(i)
		}
		rest = rest.Times(out[i])
	}
	if x.HasRank() {
		total := Volume(x.Shape())
		if from >= 0 {
			q, ok := total.Over(rest)
			if !ok && total.IsKnown() && rest.IsKnown() {
				return fmt.Errorf("%s elements do not fill %s; expected a divisor of that number", total, shapeText(target))
			}
			out[from] = q
		} else if total.IsKnown() && rest.IsKnown() && total.Size != rest.Size {
			return fmt.Errorf("%s elements do not fill %s, which has %s; expected as many", total, shapeText(out), rest)
		}
	} else if from >= 0 {
		out[from] = unknown
	}
	c.set(0, x.Type(), out)
	c.out[0].ints = flatInts(x, len(out))
	return nil
}

// flatInts passes known contents on to a scalar or a vector.
func flatInts(x Value, rank int) []Dim {
	if ints, ok := x.Ints(); ok && (rank == 1 || rank == 0 && len(ints) == 1) {
		return ints
	}
	return nil
}

func inferFlatten(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x, a := c.in[0], c.intAttr("axis", 1)
	given := a
	if !x.HasRank() {
		c.set(0, x.Type(), []Dim{unknown, unknown})
		return nil
	}
	if a < 0 {
		a += int64(x.Rank())
	}
	if a < 0 || a > int64(x.Rank()) {
		return fmt.Errorf("axis %d of a tensor of rank %d; expected %d to %d", given, x.Rank(), -x.Rank(), x.Rank())
	}
	c.set(0, x.Type(), []Dim{Volume(x.Shape()[:a]), Volume(x.Shape()[a:])})
	return nil
}

func inferExpand(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	if err := c.ofInts(1, x.Type()); err != nil || !c.out[0].ranked || !x.HasRank() {
		return err
	}
	shape, err := Broadcast(x.Shape(), c.out[0].shape)
	if err != nil {
		return err
	}
	c.set(0, x.Type(), shape)
	return nil
}

func inferTranspose(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	perm := c.node.IntsAttr("perm")
	if perm == nil {
		for i := range x.Rank() {
			perm = append(perm, int64(x.Rank()-1-i))
		}
	}
	seen := make([]bool, x.Rank())
	out := make([]Dim, x.Rank())
	if len(perm) != x.Rank() {
		return fmt.Errorf("perm %v for a tensor of rank %d; expected every axis once", perm, x.Rank())
	}
	for i, p := range perm {
		if p < 0 || p >= int64(x.Rank()) || seen[p] {
			return fmt.Errorf("perm %v for a tensor of rank %d; expected every axis once", perm, x.Rank())
		}
		seen[p], out[i] = true, x.Shape()[p]
	}
	c.set(0, x.Type(), out)
	return nil
}

func inferTile(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	out := slices.Clone(x.Shape())
	repeats, ok := c.in[1].Ints()
	if ok && len(repeats) != len(out) {
		return fmt.Errorf("%d repeats for a tensor of rank %d; expected one a dimension", len(repeats), len(out))
	}
	for i := range out {
		if !ok {
			out[i] = unknown
			continue
		}
		out[i] = out[i].Times(repeats[i])
	}
	c.set(0, x.Type(), out)
	return nil
}
