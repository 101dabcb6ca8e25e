package graph

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Symbolic dimensions are polynomials over named sizes, written in one canonical way in Dim.Name: "B", "2*B*L", "L + 1".
// Two dimensions with the same text are equal; with different texts they may or may not be.

// polynomial maps a product of names ("B*L", sorted; "" is 1) to its coefficient.
type polynomial map[string]int64

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

// Times is the product.
func (d Dim) Times(e Dim) Dim {
	if d.unknown() || e.unknown() {
		if d.Size == 0 || e.Size == 0 {
			return Known(0)
		}
		return Dim{Size: -1}
	}
	out := polynomial{}
	for m, c := range d.polynomial() {
		for n, k := range e.polynomial() {
			out[product(m, n)] += c * k
		}
	}
	return out.dim()
}

// Plus is the sum.
func (d Dim) Plus(e Dim) Dim { return d.combine(e, 1) }

// Minus is the difference.
func (d Dim) Minus(e Dim) Dim { return d.combine(e, -1) }

func (d Dim) combine(e Dim, sign int64) Dim {
	if d.unknown() || e.unknown() {
		return Dim{Size: -1}
	}
	out := d.polynomial()
	for m, c := range e.polynomial() {
		out[m] += sign * c
	}
	return out.dim()
}

// Over is the quotient, where it is exact for every value of the names.
func (d Dim) Over(e Dim) (Dim, bool) {
	if d.unknown() || e.unknown() {
		return Dim{Size: -1}, false
	}
	if d.same(e) {
		return Known(1), true
	}
	by := e.polynomial()
	if len(by) != 1 {
		return Dim{Size: -1}, false
	}
	out := polynomial{}
	for n, k := range by {
		if k == 0 {
			return Dim{Size: -1}, false
		}
		for m, c := range d.polynomial() {
			rest, ok := quotient(m, n)
			if !ok || c%k != 0 {
				return Dim{Size: -1}, false
			}
			out[rest] += c / k
		}
	}
	return out.dim(), true
}

// same tells whether two dimensions are certainly equal.
func (d Dim) same(e Dim) bool {
	return d.Size >= 0 && d.Size == e.Size || d.Size < 0 && e.Size < 0 && d.Name != "" && d.Name == e.Name
}

func (d Dim) unknown() bool { return d.Size < 0 && d.Name == "" }

func (d Dim) polynomial() polynomial {
	if d.Size >= 0 {
		return polynomial{"": d.Size}
	}
	out := polynomial{}
	rest := strings.ReplaceAll(strings.ReplaceAll(d.Name, " - ", " + -"), " ", "")
	for _, term := range strings.Split(rest, "+") {
		c, names := int64(1), []string{}
		if strings.HasPrefix(term, "-") {
			c, term = -1, term[1:]
		}
		for _, f := range strings.Split(term, "*") {
			if v, err := strconv.ParseInt(f, 10, 64); err == nil {
				c *= v
			} else if f != "" {
				names = append(names, f)
			}
		}
		sort.Strings(names)
		out[strings.Join(names, "*")] += c
	}
	return out
}

func (p polynomial) dim() Dim {
	var terms []string
	for m, c := range p {
		if c != 0 {
			terms = append(terms, m)
		}
	}
	if len(terms) == 0 {
		return Known(0)
	}
	if len(terms) == 1 && terms[0] == "" {
		return Known(max(p[""], -1))
	}
	sort.Slice(terms, func(i, j int) bool {
		return terms[i] == "" != (terms[j] == "") && terms[j] == "" || terms[i] != "" && terms[j] != "" && terms[i] < terms[j]
	})
	var out strings.Builder
	for i, m := range terms {
		c := p[m]
		switch {
		case i > 0 && c < 0:
			out.WriteString(" - ")
			c = -c
		case i > 0:
			out.WriteString(" + ")
		case c < 0:
			out.WriteString("-")
			c = -c
		}
		switch {
		case m == "":
			out.WriteString(strconv.FormatInt(c, 10))
		case c == 1:
			out.WriteString(m)
		default:
			out.WriteString(strconv.FormatInt(c, 10) + "*" + m)
		}
	}
	return Named(out.String())
}

func splitNames(m string) []string {
	if m == "" {
		return nil
	}
	return strings.Split(m, "*")
}

func product(m, n string) string {
	if m == "" || n == "" {
		return m + n
	}
	all := append(strings.Split(m, "*"), strings.Split(n, "*")...)
	sort.Strings(all)
	return strings.Join(all, "*")
}

func quotient(m, n string) (string, bool) {
	if n == "" {
		return m, true
	}
	if m == "" {
		return "", false
	}
	left := strings.Split(m, "*")
	for _, f := range strings.Split(n, "*") {
		i := slices.Index(left, f)
		if i < 0 {
			return "", false
		}
		left = slices.Delete(left, i, i+1)
	}
	return strings.Join(left, "*"), true
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
