package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferGather, "Gather")
	register(inferGatherElements, "GatherElements")
	register(inferGatherND, "GatherND")
	register(inferScatter, "ScatterElements", "ScatterND")
	register(inferTopK, "TopK")
	register(inferOneHot, "OneHot")
	register(inferNonZero, "NonZero")
}

// indices holds input i against the types of indices.
func (c *call) indices(i int) error {
	switch t := c.input(i).Type(); t {
	case Int64, Int32, Undefined:
		return nil
	default:
		return fmt.Errorf("the indices are %s; expected int64", t)
	}
}

func inferGather(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.indices(1); err != nil {
		return err
	}
	x, ids := c.in[0], c.in[1]
	if !x.HasRank() || !ids.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	a, err := axis(c.intAttr("axis", 0), x.Rank())
	if err != nil {
		return err
	}
	out := append(slices.Clone(x.Shape()[:a]), ids.Shape()...)
	c.set(0, x.Type(), append(out, x.Shape()[a+1:]...))
	from, ok1 := x.Ints()
	at, ok2 := ids.Ints()
	if ok1 && ok2 && x.Rank() == 1 {
		picked := make([]Dim, len(at))
		for i, d := range at {
			n, literal := d.literal()
			if n < 0 {
				n += int64(len(from))
			}
			if !literal || n < 0 || n >= int64(len(from)) {
				return nil
			}
			picked[i] = from[n]
		}
		c.out[0].ints = picked
	}
	return nil
}

func inferGatherElements(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.indices(1); err != nil {
		return err
	}
	if x, ids := c.in[0], c.in[1]; x.HasRank() && ids.HasRank() {
		if x.Rank() != ids.Rank() {
			return fmt.Errorf("ranks differ: %s and %s; expected indices with the rank of the data", x, ids)
		}
		if _, err := axis(c.intAttr("axis", 0), x.Rank()); err != nil {
			return err
		}
	}
	if !c.in[1].HasRank() {
		c.unranked(0, c.in[0].Type())
		return nil
	}
	c.set(0, c.in[0].Type(), c.in[1].Shape())
	return nil
}

func inferGatherND(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.indices(1); err != nil {
		return err
	}
	x, ids, batch := c.in[0], c.in[1], int(c.intAttr("batch_dims", 0))
	last := ids.Dim(-1)
	if !x.HasRank() || !ids.HasRank() || !last.IsKnown() {
		c.unranked(0, x.Type())
		return nil
	}
	if batch < 0 || batch >= ids.Rank() || last.Size < 1 || last.Size > int64(x.Rank()-batch) {
		return fmt.Errorf("indices %s of %s dimensions after %d batch dimensions into %s; expected 1 to %d", ids, last, batch, x, x.Rank()-batch)
	}
	out := slices.Clone(ids.Shape()[:ids.Rank()-1])
	c.set(0, x.Type(), append(out, x.Shape()[batch+int(last.Size):]...))
	return nil
}

func inferScatter(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	if err := c.indices(1); err != nil {
		return err
	}
	if err := c.sameType(0, 2); err != nil {
		return err
	}
	return c.like(c.in[0].Type())
}

func inferTopK(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		c.unranked(1, Int64)
		return nil
	}
	a, err := axis(c.intAttr("axis", -1), x.Rank())
	if err != nil {
		return err
	}
	out := slices.Clone(x.Shape())
	out[a] = unknown
	if k, ok := c.in[1].Ints(); ok && len(k) == 1 {
		out[a] = k[0]
	}
	c.set(0, x.Type(), out)
	c.set(1, Int64, out)
	return nil
}

func inferOneHot(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	ids := c.in[0]
	if !ids.HasRank() {
		c.unranked(0, c.in[2].Type())
		return nil
	}
	a, err := axis(c.intAttr("axis", -1), ids.Rank()+1)
	if err != nil {
		return err
	}
	depth := unknown
	if d, ok := c.in[1].Ints(); ok && len(d) == 1 {
		depth = d[0]
	}
	c.set(0, c.in[2].Type(), slices.Insert(slices.Clone(ids.Shape()), a, depth))
	return nil
}

func inferNonZero(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	rank := unknown
	if c.in[0].HasRank() {
		rank = Known(int64(c.in[0].Rank()))
	}
	c.set(0, Int64, []Dim{rank, unknown})
	return nil
}
