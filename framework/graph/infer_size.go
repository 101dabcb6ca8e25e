package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferShape, "Shape")
	register(inferSize, "Size")
	register(inferRange, "Range")
	register(inferConstantOfShape, "ConstantOfShape")
	register(inferConstant, "Constant")
}

func inferShape(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.set(0, Int64, []Dim{unknown})
		return nil
	}
	s := x.Shape()
	lo, hi := clampSlice(c.intAttr("start", 0), int64(len(s))), int64(len(s))
	if a := c.attr("end"); a != nil {
		hi = clampSlice(a.I, hi)
	}
	s = s[lo:max(lo, hi)]
	c.set(0, Int64, []Dim{Known(int64(len(s)))})
	if !slices.ContainsFunc(s, Dim.unknown) {
		c.out[0].ints = append([]Dim{}, s...)
	}
	return nil
}

func inferSize(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	c.set(0, Int64, nil)
	if v := Volume(c.in[0].Shape()); c.in[0].HasRank() && !v.unknown() {
		c.out[0].ints = []Dim{v}
	}
	return nil
}

func inferRange(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	if err := c.sameType(0, 1, 2); err != nil {
		return err
	}
	n := unknown
	start, ok1 := c.in[0].Ints()
	limit, ok2 := c.in[1].Ints()
	step, ok3 := c.in[2].Ints()
	if ok1 && ok2 && ok3 && len(start) == 1 && len(limit) == 1 && len(step) == 1 && step[0].Size == 1 {
		n = limit[0].Minus(start[0])
		if v, literal := n.literal(); literal {
			n = Known(max(0, v))
		}
	}
	c.set(0, c.in[0].Type(), []Dim{n})
	return nil
}

func inferConstantOfShape(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	typ := Float32
	if a := c.attr("value"); a != nil && a.T != nil {
		typ = a.T.Type
	}
	if err := c.ofInts(0, typ); err != nil {
		return err
	}
	if a := c.attr("value"); typ == Int64 && a != nil && c.out[0].ranked && len(c.out[0].shape) == 1 && c.out[0].shape[0].IsKnown() && c.out[0].shape[0].Size <= 64 {
		if v, err := a.T.Ints(); err == nil && len(v) == 1 {
			c.out[0].ints = slices.Repeat([]Dim{number64(v[0])}, int(c.out[0].shape[0].Size))
		}
	}
	return nil
}

func inferConstant(c *call) error {
	for _, a := range c.node.Attributes {
		if a.Ref != "" { // a function's attribute
			typ := map[Kind]Type{KindFloat: Float32, KindInt: Int64}[a.Kind]
			if typ == Undefined {
				c.unranked(0, Undefined)
			} else {
				c.set(0, typ, nil)
			}
			return nil
		}
	}
	t, err := ConstantTensor(c.node)
	if err != nil {
		return err
	}
	c.out[0], err = constantInfo(t)
	return err
}

// ConstantTensor is the tensor that a Constant node holds in one of its attributes.
func ConstantTensor(n *Node) (*Tensor, error) {
	for _, a := range n.Attributes {
		switch a.Name {
		case "value":
			if a.T != nil {
				return a.T, nil
			}
		case "value_int":
			return OfInts("", nil, []int64{a.I}), nil
		case "value_ints":
			return OfInts("", []int64{int64(len(a.Ints))}, a.Ints), nil
		case "value_float":
			return OfFloats("", nil, []float32{a.F}), nil
		case "value_floats":
			return OfFloats("", []int64{int64(len(a.Floats))}, a.Floats), nil
		}
	}
	return nil, fmt.Errorf("constant %s has no value that is a tensor of numbers; export the model with such constants", n.Name)
}
