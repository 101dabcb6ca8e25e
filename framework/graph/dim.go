package graph

import (
	"slices"
	"strconv"
	"strings"
)

// Symbolic dimensions are polynomials over named sizes, written in one way in Dim.Name: "B", "2*B*L", "L + 1". Two
// dimensions with the same text are equal; with different texts they may or may not be.

// unknown is a dimension of which nothing is known.
var unknown = Dim{Size: -1}

// IsKnown tells whether the size is a number.
func (d Dim) IsKnown() bool { return d.Size >= 0 }

// String is the size, or the name, or "?".
func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return strconv.FormatInt(d.Size, 10)
	case d.Name != "":
		return d.Name
	}
	return "?"
}

// Times is the product, unknown where an operand is, or where a name is no expression (such as "floor(L/2)").
func (d Dim) Times(e Dim) Dim {
	switch {
	case d.Size == 0 || e.Size == 0:
		return Known(0)
	case d.Size == 1:
		return e
	case e.Size == 1:
		return d
	}
	return d.combine(e, polynomial.times)
}

// Plus is the sum, unknown like that of [Dim.Times].
func (d Dim) Plus(e Dim) Dim {
	switch {
	case d.Size == 0:
		return e
	case e.Size == 0:
		return d
	}
	return d.combine(e, func(p, q polynomial) (polynomial, bool) { return p.plus(q, 1) })
}

// Minus is the difference, unknown like that of [Dim.Times]. A difference below zero is no size: its name is the negative number.
func (d Dim) Minus(e Dim) Dim {
	switch {
	case e.Size == 0:
		return d
	case d.Size < 0 && !d.unknown() && d.Name == e.Name && e.Size < 0:
		return Known(0)
	}
	return d.combine(e, func(p, q polynomial) (polynomial, bool) { return p.plus(q, -1) })
}

// Over is the quotient, where it is exact for every value of the names other than zero.
func (d Dim) Over(e Dim) (Dim, bool) {
	switch {
	case e.Size == 0:
		return unknown, false
	case e.Size == 1:
		return d, !d.unknown()
	case d.same(e):
		return Known(1), true
	}
	out := d.combine(e, polynomial.over)
	return out, !out.unknown()
}

func (d Dim) combine(e Dim, f func(p, q polynomial) (polynomial, bool)) Dim {
	p, ok1 := d.polynomial()
	q, ok2 := e.polynomial()
	if ok1 && ok2 {
		if out, ok := f(p, q); ok {
			return out.dim()
		}
	}
	return unknown
}

func (d Dim) polynomial() (polynomial, bool) {
	switch {
	case d.Size > 0:
		return polynomial{"": d.Size}, true
	case d.Size == 0:
		return polynomial{}, true
	}
	return parse(d.Name)
}

// same tells whether two dimensions are certainly equal.
func (d Dim) same(e Dim) bool {
	if d.Size >= 0 || e.Size >= 0 {
		return d.Size == e.Size
	}
	if d.Name == e.Name {
		return d.Name != ""
	}
	// Somebody else may have written the same sum in another order.
	return strings.ContainsAny(d.Name, " *") && strings.ContainsAny(e.Name, " *") && d.Minus(e) == Known(0)
}

func (d Dim) unknown() bool { return d.Size < 0 && d.Name == "" }

// vague tells whether a dimension has no name that anybody gave.
func (d Dim) vague() bool { return d.Size < 0 && (d.Name == "" || strings.Contains(d.Name, "?")) }

// number64 is an entry of a known int64 tensor. Negative numbers are no sizes, so they are kept as text.
func number64(v int64) Dim {
	if v >= 0 {
		return Known(v)
	}
	return Named(strconv.FormatInt(v, 10))
}

// literal reads an entry that is a number.
func (d Dim) literal() (int64, bool) {
	if d.Size >= 0 {
		return d.Size, true
	}
	v, err := strconv.ParseInt(d.Name, 10, 64)
	return v, err == nil && d.Name == strconv.FormatInt(v, 10)
}

// substitute puts sizes in the place of names; names without a size make the result unknown.
func (d Dim) substitute(sizes map[string]Dim) Dim {
	if d.IsKnown() {
		return d
	}
	if s, ok := sizes[d.Name]; ok {
		return s
	}
	p, ok := d.polynomial()
	if !ok {
		return unknown
	}
	out := Known(0)
	for m, c := range p {
		value := number64(c)
		if m != "" {
			for name := range strings.SplitSeq(m, "*") {
				s, ok := sizes[name]
				if !ok {
					return unknown
				}
				value = value.Times(s)
			}
		}
		out = out.Plus(value)
	}
	return out
}

// Volume is the product of the dimensions, 1 for none.
func Volume(shape []Dim) Dim {
	out := Known(1)
	for _, d := range shape {
		out = out.Times(d)
	}
	return out
}

// SameShape tells whether two shapes are certainly equal.
func SameShape(a, b []Dim) bool { return slices.EqualFunc(a, b, Dim.same) }

// Dims makes a shape of sizes (int, int64), names (string) and Dims.
func Dims(of ...any) []Dim {
	out := make([]Dim, len(of))
	for i, v := range of {
		switch v := v.(type) {
		case int:
			out[i] = Known(int64(v))
		case int64:
			out[i] = Known(v)
		case string:
			out[i] = Named(v)
		case Dim:
			out[i] = v
		default:
			panic("graph.Dims: a dimension is an int, an int64, a name or a Dim")
		}
	}
	return out
}

// shapeText is the shape as people write it: [B, L, 64].
func shapeText(s []Dim) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
