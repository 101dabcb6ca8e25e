package graph

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDimArithmetic builds dimensions by random sums, products, differences and quotients, and holds their text against big
// integers at random sizes.
func TestDimArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := map[string]int64{}
		type pair struct {
			d Dim
			v *big.Int
		}
		var known []pair
		for _, name := range []string{"B", "L", "batch_size", "s0", "?7", "seq-len", "Zeit"} {
			of[name] = rapid.Int64Range(1, 9).Draw(t, name)
			known = append(known, pair{Named(name), big.NewInt(of[name])})
		}
		for _, n := range []int64{0, 1, 2, 12, math.MaxInt64} {
			known = append(known, pair{Known(n), big.NewInt(n)})
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			p, q := rapid.SampledFrom(known).Draw(t, "p"), rapid.SampledFrom(known).Draw(t, "q")
			out := pair{v: new(big.Int)}
			switch op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op"); op {
			case "+":
				out.d, out.v = p.d.Plus(q.d), out.v.Add(p.v, q.v)
			case "-":
				out.d, out.v = p.d.Minus(q.d), out.v.Sub(p.v, q.v)
			case "*":
				out.d, out.v = p.d.Times(q.d), out.v.Mul(p.v, q.v)
			case "/":
				d, ok := p.d.Over(q.d)
				if !ok || q.v.Sign() == 0 {
					continue
				}
				if !d.unknown() && !d.Times(q.d).unknown() && !d.Times(q.d).same(p.d) {
					t.Fatalf("%s over %s is %s, and back %s", p.d, q.d, d, d.Times(q.d))
				}
				quotient, rest := new(big.Int).QuoRem(p.v, q.v, new(big.Int))
				if rest.Sign() != 0 {
					t.Fatalf("%s over %s is %s, but %s is no multiple of %s", p.d, q.d, d, p.v, q.v)
				}
				out.d, out.v = d, quotient
			}
			if out.d.unknown() {
				continue
			}
			if got := evaluateBig(t, out.d, of); got.Cmp(out.v) != 0 {
				t.Fatalf("%q is %s with %v, want %s", out.d, got, of, out.v)
			}
			if again, ok := out.d.polynomial(); !ok || again.dim() != out.d {
				t.Fatalf("%q is not read as it is written", out.d)
			}
			substituted := out.d.substitute(func() map[string]Dim {
				m := map[string]Dim{}
				for name, v := range of {
					m[name] = Known(v)
				}
				return m
			}())
			if v, ok := substituted.literal(); ok && big.NewInt(v).Cmp(out.v) != 0 {
				t.Fatalf("%q becomes %d with %v, want %s", out.d, v, of, out.v)
			}
			known = append(known, out)
		}
	})
}

func evaluateBig(t fatal, d Dim, of map[string]int64) *big.Int {
	if d.Size >= 0 {
		return big.NewInt(d.Size)
	}
	sum := new(big.Int)
	for _, term := range strings.Split(strings.ReplaceAll(d.Name, " - ", " + -"), " + ") {
		value := big.NewInt(1)
		if rest, negative := strings.CutPrefix(term, "-"); negative {
			value.Neg(value)
			term = rest
		}
		for _, f := range strings.Split(term, "*") {
			n := new(big.Int)
			if v, ok := of[f]; ok {
				n.SetInt64(v)
			} else if _, ok := n.SetString(f, 10); !ok {
				t.Fatalf("%q: the name %q has no size", d, f)
			}
			value.Mul(value, n)
		}
		sum.Add(sum, value)
	}
	return sum
}

func TestDimOfForeignNames(t *testing.T) {
	for _, c := range []struct{ a, b, plus, times, minus string }{
		{"past + 1", "L", "L + past + 1", "L + L*past", "past - L + 1"},
		{"past_sequence_length + 1", "past_sequence_length", "2*past_sequence_length + 1", "past_sequence_length + past_sequence_length*past_sequence_length", "1"},
		{"L - 1", "L", "2*L - 1", "L*L - L", "-1"},
		{"seq-len", "seq-len", "2*seq-len", "seq-len*seq-len", "0"},
		// No expressions for certain: they stand for themselves.
		{"batch size", "L", "?", "?", "?"},
		{"batch size", "batch size", "?", "?", "0"},
		{"floor(L/2)", "L", "?", "?", "?"},
		{"2*(L + 1)", "L", "?", "?", "?"},
		{"L+1", "L", "?", "?", "?"},
		{"L**2", "L", "?", "?", "?"},
		{"L + ", "L", "?", "?", "?"},
		{" ", "L", "?", "?", "?"},
		{"*", "L", "?", "?", "?"},
		{"-", "L", "?", "?", "?"},
		{"L -- 1", "L", "?", "?", "?"},
		{"9223372036854775807*L", "L", "?", "9223372036854775807*L*L", "9223372036854775806*L"},
		{"99999999999999999999", "L", "?", "?", "?"},
		{"", "L", "?", "?", "?"},
		{"ä\xff", "L", "?", "?", "?"},
	} {
		a, b := Named(c.a), Named(c.b)
		if got := [3]string{a.Plus(b).String(), a.Times(b).String(), a.Minus(b).String()}; got != [3]string{c.plus, c.times, c.minus} {
			t.Errorf("%q and %q: got %q", c.a, c.b, got)
		}
	}
	if !Named("L + B").same(Named("B + L")) || Named("batch size").same(Named("batchsize")) || Named("").same(Named("")) || Named("B").same(Known(3)) {
		t.Error("equality of names")
	}
	if q, ok := Known(0).Over(Known(0)); ok {
		t.Error("0/0 is", q)
	}
}

// TestDimGrowth: sizes that are multiplied again and again become unknown before they cost anything.
func TestDimGrowth(t *testing.T) {
	d := Named("L").Plus(Known(1)).Times(Named("B"))
	for range 100 {
		d = d.Times(d).Plus(d)
	}
	if !d.unknown() {
		t.Error(d)
	}
}

func FuzzDim(f *testing.F) {
	for _, s := range []string{"B", "2*B*L", "L + 1", "-3", "floor(x/2)", "a b", "1*1", "--1", "0*B"} {
		f.Add(s, "L")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		d, e := Named(a), Named(b)
		sum := d.Plus(e)
		sum.Times(d)
		if back := sum.Minus(e); !back.unknown() && !back.same(d) && !d.Minus(Known(0)).same(d) {
			t.Errorf("%q + %q - %q is %q", a, b, b, back)
		}
		if q, ok := d.Times(e).Over(e); ok && !q.same(d) && d.Times(Known(1)).same(d) {
			p, _ := d.polynomial() // another way to write the same
			if p.dim() != q {
				t.Errorf("%q times %q over %q is %q", a, b, b, q)
			}
		}
		d.substitute(map[string]Dim{"B": Known(3)})
		d.literal()
	})
}
