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
}

func inferMatMul(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.sameType(0, 1); err != nil {
		return err
	}
	return c.product(c.in[0].Type())
}

// product is the shape of a product of the two inputs, with elements typ.
func (c *call) product(typ Type) error {
	a, b := c.in[0], c.in[1]
	if !a.HasRank() || !b.HasRank() {
		c.unranked(0, typ)
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
		return fmt.Errorf("inner dimensions %s and %s differ; expected [.., M, K] and [.., K, N], transpose or reshape one of them", k, l)
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
	c.set(0, typ, out)
	return nil
}

// swap transposes the two last dimensions.
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
		return fmt.Errorf("inner dimensions %s and %s differ; expected [M, K] and [K, N], transpose or reshape one of them", x[1], y[0])
	}
	out := []Dim{x[0], y[1]}
	if v := c.input(2); v.Given() && v.HasRank() {
		got, err := Broadcast(out, v.Shape())
		if err != nil {
			return err
		}
		if len(got) != 2 || !SameShape(got, out) && got[0].IsKnown() && out[0].IsKnown() && got[1].IsKnown() && out[1].IsKnown() {
			return fmt.Errorf("the bias %s does not broadcast to %s; expected [N] or [M, N]", v, shapeText(out))
		}
	}
	c.set(0, a.Type(), out)
	return nil
}

func inferEinsum(c *call) error {
	a := c.attr("equation")
	if a == nil {
		return fmt.Errorf("the attribute equation is missing; give one such as \"bik,bkj->bij\"")
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
				return fmt.Errorf("letter %c stands for %s and %s; expected one size", letter, d, e)
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
			return fmt.Errorf("letter %c of the result stands in no term of %q; expected letters of the inputs", letter, a.S)
		}
		out = append(out, d)
	}
	c.set(0, c.in[0].Type(), out)
	return nil
}
