package graph

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// evaluate puts numbers in the place of names in a dimension. A name that inference made up is learned where it stands alone.
func evaluate(t fatal, d Dim, of map[string]int64, actual int64) int64 {
	if d.Size >= 0 {
		return d.Size
	}
	if strings.HasPrefix(d.Name, "?") && !strings.Contains(d.Name, " ") && !strings.Contains(d.Name, "*") {
		if _, seen := of[d.Name]; !seen {
			of[d.Name] = actual
		}
	}
	sum := int64(0)
	for _, term := range strings.Split(strings.ReplaceAll(d.Name, " - ", " + -"), " + ") {
		value := int64(1)
		if rest, negative := strings.CutPrefix(term, "-"); negative {
			value, term = -1, rest
		}
		for _, f := range strings.Split(term, "*") {
			if n, ok := of[f]; ok {
				value *= n
			} else if n, err := strconv.ParseInt(f, 10, 64); err == nil {
				value *= n
			} else {
				t.Fatalf("dimension %q: the name %q has no size", d.Name, f)
			}
		}
		sum += value
	}
	return sum
}

// verify runs a graph on the real runtime for random sizes of its names and holds types, shapes and known contents of every
// value in it against what was inferred.
func verify(t *testing.T, b *Builder, least int64, feed map[string]func(of map[string]int64) *Tensor) {
	t.Helper()
	var outputs []Output
	for _, n := range slices.Clone(b.Nodes()) {
		for i := range n.Outputs {
			if v := b.Out(n, i); v.Given() {
				if v.HasRank() && v.Rank() == 0 { // the binding cannot return a scalar
					v = b.Unsqueeze(v, 0)
				}
				outputs = append(outputs, Output{v.Name(), v})
			}
		}
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, asWritten, m)
	defer s.s.Destroy()
	rapid.Check(t, func(t *rapid.T) {
		of := map[string]int64{}
		for _, name := range []string{"B", "L", "M", "past"} {
			of[name] = rapid.Int64Range(least, least+4).Draw(t, name)
		}
		given := maps.Clone(of)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var feeds []*Tensor
		for _, v := range b.Inputs() {
			if f := feed[v.Name()]; f != nil {
				feeds = append(feeds, f(given))
				continue
			}
			dims, n := []int64{}, int64(1)
			for _, d := range v.Shape() {
				dims = append(dims, evaluate(t, d, of, 3))
				n *= dims[len(dims)-1]
			}
			data := make([]float64, n)
			switch v.Type() {
			case Float32, Float64:
				data = normal(r, n)
			case Bool:
				for i := range data {
					data[i] = float64(r.IntN(2))
				}
			}
			feeds = append(feeds, tensor(v.Type(), dims, data))
		}
		for i, got := range s.run(t, feeds) {
			v := outputs[i].Value
			if v.Type() != got.Type {
				t.Fatalf("%s is %s at the run", v, got.Type)
			}
			if !v.HasRank() {
				continue
			}
			if v.Rank() != len(got.Dims) {
				t.Fatalf("%s has shape %v at the run", v, got.Dims)
			}
			for j, d := range v.Shape() {
				if want := evaluate(t, d, of, got.Dims[j]); want != got.Dims[j] {
					t.Fatalf("%s has shape %v at the run, %d is inferred for dimension %d, with %v", v, got.Dims, want, j, of)
				}
			}
			if ints, ok := v.Ints(); ok && v.Type() == Int64 {
				have, err := got.Ints()
				if err != nil || len(have) != len(ints) {
					t.Fatalf("%s holds %v, inferred %v", v, have, ints)
				}
				for j, d := range ints {
					if want := evaluate(t, d, of, have[j]); want != have[j] {
						t.Fatalf("%s holds %v, inferred %v, with %v", v, have, ints, of)
					}
				}
			}
		}
	})
}

// covered notes the operators that verify has seen, with the opsets.
func covered(b *Builder, seen map[string]bool) {
	for _, n := range b.Nodes() {
		seen[Key(n)] = true
	}
}

func TestInference(t *testing.T) {
	seen := map[string]bool{}
	for _, opset := range []int64{17, 18, 20, 23} {
		for _, c := range inferenceCases {
			if opset < c.from {
				continue
			}
			t.Run(c.name+"/"+strconv.FormatInt(opset, 10), func(t *testing.T) {
				b := NewBuilder(c.name, opset)
				c.build(b)
				if b.Err() != nil {
					t.Fatal(b.Err())
				}
				covered(b, seen)
				verify(t, b, max(1, c.least), c.feed)
			})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(operators)) {
		if !seen[key] && !strings.HasPrefix(key, Domain+".") {
			t.Errorf("the inference of %s is not tested", key)
		}
	}
}
