package graph

import (
	"fmt"
	"math"
	"slices"
)

func init() {
	register(inferReshape, "Reshape")
	register(inferFlatten, "Flatten")
	register(inferTranspose, "Transpose")
	register(inferSqueeze, "Squeeze")
	register(inferUnsqueeze, "Unsqueeze")
	register(inferExpand, "Expand")
	register(inferConcat, "Concat")
	register(inferSplit, "Split")
	register(inferSlice, "Slice")
	register(inferPad, "Pad")
	register(inferTile, "Tile")
	register(inferShape, "Shape")
	register(inferSize, "Size")
	register(inferRange, "Range")
	register(inferConstantOfShape, "ConstantOfShape")
	register(inferConstant, "Constant")
}

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
		c.set(0, typ, slices.Repeat([]Dim{{Size: -1}}, int(v.Dim(0).Size)))
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
			out[i] = x.Dim(i)
		}
		rest = rest.Times(out[i])
	}
	if x.HasRank() {
		total := Volume(x.Shape())
		if from >= 0 {
			q, ok := total.Over(rest)
			if !ok && total.IsKnown() && rest.IsKnown() {
				return fmt.Errorf("%s elements do not fill %s", total, shapeText(target))
			}
			out[from] = q
		} else if total.IsKnown() && rest.IsKnown() && total.Size != rest.Size {
			return fmt.Errorf("%s elements do not fill %s, which has %s", total, shapeText(out), rest)
		}
	} else if from >= 0 {
		out[from] = Dim{Size: -1}
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
	if !x.HasRank() {
		c.set(0, x.Type(), []Dim{{Size: -1}, {Size: -1}})
		return nil
	}
	if a < 0 {
		a += int64(x.Rank())
	}
	if a < 0 || a > int64(x.Rank()) {
		return fmt.Errorf("axis %d of a tensor of rank %d", a, x.Rank())
	}
	c.set(0, x.Type(), []Dim{Volume(x.Shape()[:a]), Volume(x.Shape()[a:])})
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

// axes reads axes from input i or, in older operators, from the attribute. nil with ok: none were given.
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
			return fmt.Errorf("axis %d has size %s; expected 1", a, d)
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
			return fmt.Errorf("axis %d is given twice", a)
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

func inferConcat(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	if err := c.sameType(0, len(c.in)-1); err != nil {
		return err
	}
	first := c.in[0]
	for _, v := range c.in {
		if !v.HasRank() {
			c.unranked(0, first.Type())
			return nil
		}
	}
	a, err := axis(c.intAttr("axis", 0), first.Rank())
	if err != nil {
		return err
	}
	out := slices.Clone(first.Shape())
	known := true
	for _, v := range c.in[1:] {
		if v.Rank() != first.Rank() {
			return fmt.Errorf("ranks differ: %s and %s", first, v)
		}
		for i, d := range v.Shape() {
			switch {
			case i == a:
				out[i] = out[i].Plus(d)
			case d.IsKnown() && out[i].IsKnown() && d.Size != out[i].Size:
				return fmt.Errorf("shapes %s and %s differ beside axis %d", shapeText(first.Shape()), shapeText(v.Shape()), a)
			case d.IsKnown():
				out[i] = d
			}
		}
		if _, ok := v.Ints(); !ok {
			known = false
		}
	}
	c.set(0, first.Type(), out)
	if _, ok := first.Ints(); ok && known && first.Rank() == 1 {
		c.out[0].ints = nil
		for _, v := range c.in {
			more, _ := v.Ints()
			c.out[0].ints = append(c.out[0].ints, more...)
		}
	}
	return nil
}

func inferSplit(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		for i := range c.out {
			c.unranked(i, x.Type())
		}
		return nil
	}
	a, err := axis(c.intAttr("axis", 0), x.Rank())
	if err != nil {
		return err
	}
	sizes, given := c.input(1).Ints()
	if s := c.attr("split"); s != nil {
		given = true
		for _, n := range s.Ints {
			sizes = append(sizes, Known(n))
		}
	}
	sum := Known(0)
	for i := range c.out {
		out := slices.Clone(x.Shape())
		switch {
		case given && len(sizes) != len(c.out):
			return fmt.Errorf("%d sizes for %d outputs", len(sizes), len(c.out))
		case given:
			out[a] = sizes[i]
			sum = sum.Plus(sizes[i])
		case c.input(1).Given():
			out[a] = Dim{Size: -1}
		default:
			n := int64(len(c.out))
			if d := x.Dim(a); d.IsKnown() {
				chunk := (d.Size + n - 1) / n
				out[a] = Known(max(0, min(chunk, d.Size-chunk*int64(i))))
			} else if q, ok := d.Over(Known(n)); ok {
				out[a] = q
			} else {
				out[a] = Dim{Size: -1}
			}
		}
		c.set(i, x.Type(), out)
	}
	if d := x.Dim(a); given && d.IsKnown() && sum.IsKnown() && d.Size != sum.Size {
		return fmt.Errorf("the sizes add up to %s, and axis %d has %s", sum, a, d)
	}
	return nil
}

func inferSlice(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	read := func(i int) ([]Dim, bool) {
		if !c.input(i).Given() {
			return nil, true
		}
		return c.input(i).Ints()
	}
	starts, ok1 := read(1)
	ends, ok2 := read(2)
	axes, ok3 := read(3)
	steps, ok4 := read(4)
	out := slices.Clone(x.Shape())
	if !ok3 {
		for i := range out {
			out[i] = Dim{Size: -1}
		}
		c.set(0, x.Type(), out)
		return nil
	}
	n := len(axes)
	if axes == nil {
		n = len(starts)
		if !ok1 {
			n = x.Rank()
		}
	}
	for i := range n {
		a := int64(i)
		if axes != nil {
			v, literal := axes[i].literal()
			if !literal {
				return fmt.Errorf("axes must be numbers")
			}
			a = v
		}
		k, err := axis(a, x.Rank())
		if err != nil {
			return err
		}
		out[k] = Dim{Size: -1}
		if ok1 && ok2 && ok4 && i < len(starts) && i < len(ends) && (steps == nil || i < len(steps)) {
			step := Known(1)
			if steps != nil {
				step = steps[i]
			}
			out[k] = sliced(x.Dim(k), starts[i], ends[i], step)
		}
	}
	c.set(0, x.Type(), out)
	if ints, ok := x.Ints(); ok && x.Rank() == 1 && ok1 && ok2 && len(starts) == 1 {
		s, lit1 := starts[0].literal()
		e, lit2 := ends[0].literal()
		if lit1 && lit2 && (steps == nil || steps[0].Size == 1) {
			lo, hi := clampSlice(s, int64(len(ints))), clampSlice(e, int64(len(ints)))
			c.out[0].ints = append([]Dim{}, ints[lo:max(lo, hi)]...)
		}
	}
	return nil
}

func clampSlice(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return max(0, min(i, n))
}

// sliced is the length of a slice of a dimension.
func sliced(d, start, end, step Dim) Dim {
	k, isStep := step.literal()
	s, isStart := start.literal()
	e, isEnd := end.literal()
	switch {
	case !isStep || !isStart || k == 0:
		return Dim{Size: -1}
	case d.IsKnown() && isEnd && k > 0:
		lo, hi := clampSlice(s, d.Size), clampSlice(e, d.Size)
		return Known(max(0, (hi-lo+k-1)/k))
	case d.IsKnown() && isEnd:
		lo := s
		if lo < 0 {
			lo += d.Size
		}
		lo = max(0, min(lo, d.Size-1))
		hi := e
		if hi < 0 {
			hi += d.Size
		}
		hi = max(-1, min(hi, d.Size-1))
		return Known(max(0, (lo-hi-k-1)/-k))
	case k != 1:
		return Dim{Size: -1}
	case isEnd && e >= math.MaxInt32 && s >= 0:
		return d.Minus(Known(s))
	case isEnd && e < 0 && s >= 0:
		return d.Minus(Known(-e)).Minus(Known(s))
	case !isEnd && s == 0: // up to a size, which is at most d's in a sound graph
		return end
	}
	return Dim{Size: -1}
}

func inferPad(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	out := slices.Clone(x.Shape())
	pads, ok := c.in[1].Ints()
	for i := range out {
		if !ok || c.input(3).Given() || len(pads) != 2*len(out) {
			out[i] = Dim{Size: -1}
			continue
		}
		for _, p := range []Dim{pads[i], pads[i+len(out)]} {
			if n, literal := p.literal(); literal && n < 0 {
				out[i] = out[i].Minus(Known(-n))
			} else {
				out[i] = out[i].Plus(p)
			}
		}
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
	for i := range out {
		if !ok || i >= len(repeats) {
			out[i] = Dim{Size: -1}
			continue
		}
		out[i] = out[i].Times(repeats[i])
	}
	c.set(0, x.Type(), out)
	return nil
}

func inferShape(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.set(0, Int64, []Dim{{Size: -1}})
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
	n := Dim{Size: -1}
	start, ok1 := c.in[0].Ints()
	limit, ok2 := c.in[1].Ints()
	step, ok3 := c.in[2].Ints()
	if ok1 && ok2 && ok3 && len(start) == 1 && len(limit) == 1 && len(step) == 1 && step[0].Size == 1 && start[0].Size == 0 {
		n = limit[0]
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
	t, err := ConstantTensor(c.node)
	if err != nil {
		return err
	}
	c.out[0] = constantInfo(t)
	return nil
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
	return nil, fmt.Errorf("constant %s has no value that is a tensor of numbers", n.Name)
}
