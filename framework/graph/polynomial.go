package graph

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// polynomial maps a product of names ("B*L", sorted; "" is 1) to its coefficient.
type polynomial map[string]int64

// Bounds of a polynomial, so that a graph that multiplies sizes again and again costs no more than other graphs. What lies
// beyond counts as unknown.
const (
	maxTerms = 16
	maxText  = 256
)

// parse reads a name that [polynomial.dim] wrote, or that somebody wrote in the same way: "L", "2*B*L", "past + 1", "-3". Other
// names, such as "floor(L/2)" or "batch size", stand for themselves only, and there is no arithmetic with them.
func parse(name string) (polynomial, bool) {
	words := strings.Split(name, " ")
	if len(words)%2 == 0 || len(words) > 2*maxTerms || len(name) > maxText {
		return nil, false
	}
	out, sign := polynomial{}, int64(1)
	for i, w := range words {
		if i%2 == 1 {
			switch w {
			case "+":
				sign = 1
			case "-":
				sign = -1
			default:
				return nil, false
			}
			continue
		}
		if rest, negative := strings.CutPrefix(w, "-"); negative && i == 0 {
			w, sign = rest, -1
		}
		c, names, ok := term(w)
		if !ok || !out.add(names, sign*c) {
			return nil, false
		}
	}
	return out, true
}

// term reads a product such as "2*B*L".
func term(w string) (c int64, names string, ok bool) {
	var all []string
	c, ok = 1, true
	for f := range strings.SplitSeq(w, "*") {
		if v, err := strconv.ParseUint(f, 10, 63); err == nil {
			if c, ok = times(c, int64(v)); !ok {
				return 0, "", false
			}
		} else if !plain(f) {
			return 0, "", false
		} else {
			all = append(all, f)
		}
	}
	slices.Sort(all)
	return c, strings.Join(all, "*"), true
}

// plain tells whether a name can stand in a sum or a product without a doubt about where it ends.
func plain(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && !strings.ContainsRune("_?", r) && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune(".-:", r)) {
			return false
		}
	}
	return name != ""
}

// times is the product; false where it leaves int64.
func times(a, b int64) (int64, bool) {
	magnitude := func(v int64) uint64 {
		if v < 0 {
			return -uint64(v)
		}
		return uint64(v)
	}
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	return a * b, hi == 0 && lo < 1<<63
}

// add adds c times a product of names; false where the sum leaves int64.
func (p polynomial) add(names string, c int64) bool {
	sum := p[names] + c
	if (sum > p[names]) != (c > 0) && c != 0 || sum == math.MinInt64 {
		return false
	}
	if p[names] = sum; sum == 0 {
		delete(p, names)
	}
	return true
}

// plus is p + sign q.
func (p polynomial) plus(q polynomial, sign int64) (polynomial, bool) {
	out := maps.Clone(p)
	for names, c := range q {
		if !out.add(names, sign*c) {
			return nil, false
		}
	}
	return out, true
}

// times is the product.
func (p polynomial) times(q polynomial) (polynomial, bool) {
	out := polynomial{}
	for m, c := range p {
		for n, k := range q {
			v, ok := times(c, k)
			if !ok || !out.add(product(m, n), v) {
				return nil, false
			}
		}
	}
	return out, true
}

// over is the quotient by one term, where it is exact for every value of the names.
func (p polynomial) over(q polynomial) (polynomial, bool) {
	if len(q) != 1 {
		return nil, false
	}
	out := polynomial{}
	for n, k := range q {
		for m, c := range p {
			rest, ok := quotient(m, n)
			if !ok || c%k != 0 || !out.add(rest, c/k) {
				return nil, false
			}
		}
	}
	return out, true
}

// dim writes the polynomial: what is added first, in alphabetical order, the number last.
func (p polynomial) dim() Dim {
	if len(p) == 0 {
		return Known(0)
	}
	if c, ok := p[""]; ok && len(p) == 1 {
		return number64(c)
	}
	terms := slices.SortedFunc(maps.Keys(p), func(m, n string) int {
		switch negative := p[m] < 0; {
		case m == "" || n == "":
			return len(n) - len(m)
		case negative != (p[n] < 0):
			return map[bool]int{true: 1, false: -1}[negative]
		}
		return strings.Compare(m, n)
	})
	var out strings.Builder
	for i, m := range terms {
		c := p[m]
		switch {
		case i > 0 && c < 0:
			out.WriteString(" - ")
		case i > 0:
			out.WriteString(" + ")
		case c < 0:
			out.WriteString("-")
		}
		c = max(c, -c)
		if c != 1 || m == "" {
			out.WriteString(strconv.FormatInt(c, 10))
			if m != "" {
				out.WriteString("*")
			}
		}
		out.WriteString(m)
	}
	if len(p) > maxTerms || out.Len() > maxText {
		return unknown
	}
	return Named(out.String())
}

func product(m, n string) string {
	if m == "" || n == "" {
		return m + n
	}
	all := append(strings.Split(m, "*"), strings.Split(n, "*")...)
	slices.Sort(all)
	return strings.Join(all, "*")
}

// quotient is the product m without the names of n.
func quotient(m, n string) (string, bool) {
	if n == "" {
		return m, true
	}
	left := strings.Split(m, "*")
	for f := range strings.SplitSeq(n, "*") {
		i := slices.Index(left, f)
		if i < 0 {
			return "", false
		}
		left = slices.Delete(left, i, i+1)
	}
	return strings.Join(left, "*"), true
}
