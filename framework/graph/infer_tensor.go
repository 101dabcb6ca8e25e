package graph

import (
	"fmt"
	"slices"
	"strings"
)

func init() {
	register(inferMatMul, "MatMul", "com.microsoft.FusedMatMul")
	register(inferGemm, "Gemm")
	register(inferEinsum, "Einsum")
	register(inferNorm, "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
	register(inferRotary, "RotaryEmbedding", "com.microsoft.RotaryEmbedding")
	register(inferReduce, "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceL1",
		"ReduceLogSumExp", "ReduceLogSum")
	register(inferArg, "ArgMax", "ArgMin")
	register(inferGather, "Gather")
	register(inferGatherElements, "GatherElements")
	register(inferGatherND, "GatherND")
	register(inferScatter, "ScatterElements", "ScatterND")
	register(inferTopK, "TopK")
	register(inferOneHot, "OneHot")
	register(inferNonZero, "NonZero")
	register(inferAttention, "Attention")
}

func inferMatMul(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.sameType(0, 1); err != nil {
		return err
	}
	a, b := c.in[0], c.in[1]
	if !a.HasRank() || !b.HasRank() {
		c.unranked(0, a.Type())
		return nil
	}
	if a.Rank() == 0 || b.Rank() == 0 {
		return fmt.Errorf("a scalar operand; expected at least vectors, multiply with Mul")
	}
	x, y := slices.Clone(a.Shape()), slices.Clone(b.Shape())
	if len(x) == 1 {
		x = []Dim{Known(1), x[0]}
	}
	if len(y) == 1 {
		y = []Dim{y[0], Known(1)}
	}
	if c.intAttr("transA", 0) != 0 {
		swap(x)
	}
	if c.intAttr("transB", 0) != 0 {
		swap(y)
	}
	m, k, l, n := x[len(x)-2], x[len(x)-1], y[len(y)-2], y[len(y)-1]
	if k.IsKnown() && l.IsKnown() && k.Size != l.Size {
		return fmt.Errorf("inner dimensions %s and %s differ", k, l)
	}
	out, err := Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		return err
	}
	if a.Rank() > 1 {
		out = append(out, m)
	}
	if b.Rank() > 1 {
		out = append(out, n)
	}
	c.set(0, a.Type(), out)
	return nil
}

func swap(s []Dim) { s[len(s)-1], s[len(s)-2] = s[len(s)-2], s[len(s)-1] }

func inferGemm(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.sameType(0, 1, 2); err != nil {
		return err
	}
	a, b := c.in[0], c.in[1]
	for _, v := range c.in[:2] {
		if v.HasRank() && v.Rank() != 2 {
			return fmt.Errorf("%s has rank %d; expected matrices, reshape it or use MatMul", v, v.Rank())
		}
	}
	x, y := []Dim{a.Dim(0), a.Dim(1)}, []Dim{b.Dim(0), b.Dim(1)}
	if c.intAttr("transA", 0) != 0 {
		swap(x)
	}
	if c.intAttr("transB", 0) != 0 {
		swap(y)
	}
	if x[1].IsKnown() && y[0].IsKnown() && x[1].Size != y[0].Size {
		return fmt.Errorf("inner dimensions %s and %s differ", x[1], y[0])
	}
	out := []Dim{x[0], y[1]}
	if v := c.input(2); v.Given() && v.HasRank() {
		got, err := Broadcast(out, v.Shape())
		if err != nil {
			return err
		}
		if len(got) != 2 || !SameShape(got, out) && got[0].IsKnown() && out[0].IsKnown() && got[1].IsKnown() && out[1].IsKnown() {
			return fmt.Errorf("the bias %s does not broadcast to %s", v, shapeText(out))
		}
	}
	c.set(0, a.Type(), out)
	return nil
}

func inferEinsum(c *call) error {
	a := c.attr("equation")
	if a == nil {
		return fmt.Errorf("the attribute equation is missing")
	}
	terms, result, explicit := strings.Cut(strings.ReplaceAll(string(a.S), " ", ""), "->")
	parts := strings.Split(terms, ",")
	if len(parts) != len(c.in) || strings.Contains(terms, ".") || !explicit {
		return fmt.Errorf("equation %q for %d inputs; expected one term an input, an explicit result and no ellipsis", a.S, len(c.in))
	}
	sizes := map[rune]Dim{}
	for i, p := range parts {
		if c.in[i].HasRank() && c.in[i].Rank() != len(p) {
			return fmt.Errorf("term %q for %s; expected one letter a dimension", p, c.in[i])
		}
		for j, letter := range p {
			d, seen := sizes[letter]
			e := c.in[i].Dim(j)
			if seen && d.IsKnown() && e.IsKnown() && d.Size != e.Size {
				return fmt.Errorf("letter %c stands for %s and %s", letter, d, e)
			}
			if !seen || e.IsKnown() {
				sizes[letter] = e
			}
		}
	}
	out := []Dim{}
	for _, letter := range result {
		d, seen := sizes[letter]
		if !seen {
			return fmt.Errorf("letter %c of the result stands in no term of %q", letter, a.S)
		}
		out = append(out, d)
	}
	c.set(0, c.in[0].Type(), out)
	return nil
}

func inferNorm(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.float(0, 1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		for i := range c.out {
			c.unranked(i, x.Type())
		}
		return nil
	}
	a, err := axis(c.intAttr("axis", -1), x.Rank())
	if err != nil {
		return err
	}
	for _, v := range c.in[1:] {
		if !v.HasRank() {
			continue
		}
		if got, err := Broadcast(x.Shape()[a:], v.Shape()); err != nil || len(got) > x.Rank()-a {
			return fmt.Errorf("%s does not fit the normalised dimensions %s of %s", v, shapeText(x.Shape()[a:]), x)
		}
	}
	c.set(0, x.Type(), x.Shape())
	saved := slices.Clone(x.Shape())
	for i := a; i < len(saved); i++ {
		saved[i] = Known(1)
	}
	for i := 1; i < len(c.out); i++ {
		c.set(i, Float32, saved)
	}
	return nil
}

func inferRotary(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	return c.like(c.in[0].Type())
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
		c.set(0, x.Type(), slices.Repeat([]Dim{{Size: -1}}, x.Rank()))
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
			return fmt.Errorf("ranks differ: %s and %s", x, ids)
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
	if int(last.Size)+batch > x.Rank() {
		return fmt.Errorf("indices of %s dimensions into %s", last, x)
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
	out[a] = Dim{Size: -1}
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
	depth := Dim{Size: -1}
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
	rank := Dim{Size: -1}
	if c.in[0].HasRank() {
		rank = Known(int64(c.in[0].Rank()))
	}
	c.set(0, Int64, []Dim{rank, {Size: -1}})
	return nil
}

// inferAttention: ONNX's Attention (opset 23) with [B, H, L, D] operands, or [B, L, H*D] with the head counts as attributes.
func inferAttention(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	q, k, v := c.in[0], c.in[1], c.in[2]
	if !q.HasRank() || !k.HasRank() || !v.HasRank() {
		for i := range c.out {
			c.unranked(i, q.Type())
		}
		return nil
	}
	if q.Rank() != k.Rank() || q.Rank() != v.Rank() || q.Rank() != 3 && q.Rank() != 4 {
		return fmt.Errorf("ranks %d, %d, %d; expected 3 or 4 of all", q.Rank(), k.Rank(), v.Rank())
	}
	out := slices.Clone(q.Shape())
	out[len(out)-1] = v.Dim(-1)
	heads := q.Dim(1)
	if q.Rank() == 3 {
		heads = Known(c.intAttr("q_num_heads", 1))
		if kv := c.intAttr("kv_num_heads", 1); kv != heads.Size {
			if d, ok := v.Dim(-1).Times(heads).Over(Known(kv)); ok {
				out[2] = d
			}
		}
	}
	c.set(0, q.Type(), out)
	for i := 1; i < len(c.out); i++ {
		c.unranked(i, q.Type())
	}
	if len(c.out) > 3 {
		c.set(3, q.Type(), []Dim{q.Dim(0), heads, q.Dim(-2), k.Dim(-2)})
	}
	return nil
}
