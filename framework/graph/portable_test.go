package graph

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// rotary is a graph with both forms of rotations, an RMS norm and SiLU, for opset.
func rotary(t *testing.T, opset int64) *Model {
	t.Helper()
	b := NewBuilder("rotary", opset)
	x := b.Input("x", Float32, Dims("B", "L", 12)...)
	positions := b.Input("positions", Int64, Dims("B", "L")...)
	var cos, sin []float32
	for p := range 9 {
		for i := range 2 {
			s, c := math.Sincos(float64(p) * math.Pow(100, -float64(i)/2))
			cos, sin = append(cos, float32(c)), append(sin, float32(s))
		}
	}
	c, s := b.Initializer(OfFloats("cos", []int64{9, 2}, cos)), b.Initializer(OfFloats("sin", []int64{9, 2}, sin))
	follows := b.Op("com.microsoft.RotaryEmbedding", nil, x, b.Ints(2), c, s)
	placed := b.Op("com.microsoft.RotaryEmbedding", nil, x, positions, c, s)
	normed := b.RMSNormalization(placed, b.Floats([]int64{12}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 0.01)
	m, err := b.Model(Output{"follows", follows}, Output{"placed", placed}, Output{"normed", normed}, Output{"silu", b.Silu(follows)})
	must(t, err)
	return m
}

// TestPortable: ONNX Runtime's own operators and their functions give the same numbers, as functions, which the runtime's kernels take the place
// of, and written out.
func TestPortable(t *testing.T) {
	for _, opset := range []int64{17, 18, 20, 22} {
		m := rotary(t, opset)
		r := rand.New(rand.NewPCG(8, 8))
		feeds := []*Tensor{tensor(Float32, []int64{3, 5, 12}, normal(r, 3*5*12)), tensor(Int64, []int64{3, 5}, []float64{0, 1, 2, 3, 4, 4, 3, 2, 1, 0, 8, 8, 0, 7, 5})}
		want := runModel(t, asWritten, m, feeds...)
		portable, err := Portable(m)
		must(t, err)
		must(t, Check(portable))
		if got := Foreign(portable); len(got) != 0 || len(Foreign(m)) != 2 {
			t.Errorf("opset %d: foreign %q of %q, expected none of two", opset, got, Foreign(m))
		}
		plain, err := Inline(portable, func(*Function) bool { return true })
		must(t, err)
		must(t, Check(plain))
		if len(plain.Functions) != 0 || len(plain.Opsets) != 1 {
			t.Errorf("opset %d: %d functions and %v, expected none and ONNX's opset", opset, len(plain.Functions), plain.Opsets)
		}
		shaped := WithShapes(plain)
		if len(shaped.Graph.Values) < len(plain.Graph.Nodes)/2 {
			t.Errorf("opset %d: shapes of %d of %d nodes", opset, len(shaped.Graph.Values), len(plain.Graph.Nodes))
		}
		for what, m := range map[string]*Model{"functions": portable, "plain": plain, "shaped": shaped} {
			for _, feed := range []int{0, 1} { // one row of one position, where both forms of positions look alike
				now, then := feeds, want
				if feed == 1 {
					now = []*Tensor{tensor(Float32, []int64{1, 1, 12}, normal(r, 12)), tensor(Int64, []int64{1, 1}, []float64{6})}
					then = runModel(t, asWritten, rotary(t, opset), now...)
				}
				for i, got := range runModel(t, optimised, m, now...) {
					x, y := doubles(t, got), doubles(t, then[i])
					for k := range y {
						if math.Abs(x[k]-y[k]) > 1e-5*max(1, math.Abs(y[k])) {
							t.Fatalf("opset %d, %s: output %s, element %d: %g, expected %g", opset, what, got.Name, k, x[k], y[k])
						}
					}
				}
			}
		}
	}
}

// TestPortableLeavesOthers: another operation under the name, and operators that nobody here can say, stay.
func TestPortableLeavesOthers(t *testing.T) {
	m := rotary(t, 20)
	for _, n := range m.Graph.Nodes {
		if n.Op == "RotaryEmbedding" {
			n.Attributes = []*Attribute{Int("interleaved", 1)}
		}
	}
	m.Graph.Nodes = append(m.Graph.Nodes, &Node{Op: "BiasGelu", Domain: Contrib, Inputs: []string{"x", "cos"}, Outputs: []string{"other"}})
	p, err := Portable(m)
	must(t, err)
	if got := strings.Join(Foreign(p), " "); got != "com.microsoft.BiasGelu com.microsoft.RotaryEmbedding" {
		t.Errorf("left are %s", got)
	}
}

// TestInline writes functions in functions, with attributes, left-out inputs and outputs that are inputs, and refuses what it cannot.
func TestInline(t *testing.T) {
	m := func() *Model {
		return &Model{IRVersion: 8, Opsets: []Opset{{"", 20}, {"own", 1}},
			Functions: []*Function{
				{Domain: "own", Name: "Leaky", Inputs: []string{"a"}, Outputs: []string{"b"}, Defaults: []*Attribute{Float("slope", 0.5)}, Opsets: []Opset{{"", 20}},
					Nodes: []*Node{{Name: "n", Op: "LeakyRelu", Inputs: []string{"a"}, Outputs: []string{"b"}, Attributes: []*Attribute{Ref("alpha", KindFloat, "slope")}}}},
				{Domain: "own", Name: "Both", Inputs: []string{"a", "most"}, Outputs: []string{"y", "same"}, Opsets: []Opset{{"", 20}, {"own", 1}},
					Nodes: []*Node{{Name: "c", Op: "Clip", Inputs: []string{"a", "", "most"}, Outputs: []string{"t"}}, {Name: "l", Op: "Leaky", Domain: "own", Inputs: []string{"t"}, Outputs: []string{"y"}},
						{Name: "s", Op: "Identity", Inputs: []string{"a"}, Outputs: []string{"same"}}}}},
			Graph: &Graph{Name: "g", Inputs: []*ValueInfo{{Name: "x", Type: Float32, HasRank: true, Shape: []Dim{Known(3)}}},
				Outputs: []*ValueInfo{{Name: "y", Type: Float32, HasRank: true, Shape: []Dim{Known(3)}}, {Name: "z", Type: Float32, HasRank: true, Shape: []Dim{Known(3)}}},
				Nodes: []*Node{{Name: "first", Op: "Both", Domain: "own", Inputs: []string{"x"}, Outputs: []string{"y", "kept"}},
					{Name: "second", Op: "Leaky", Domain: "own", Inputs: []string{"kept"}, Outputs: []string{"z"}, Attributes: []*Attribute{Float("slope", 0.25)}}}}}
	}
	x := tensor(Float32, []int64{3}, []float64{-4, 0, 2})
	plain, err := Inline(m(), func(*Function) bool { return true })
	must(t, err)
	must(t, Check(plain))
	outer, err := Inline(m(), func(f *Function) bool { return f.Name == "Leaky" }) // the one that stays calls the one that goes
	must(t, err)
	must(t, Check(outer))
	for _, m := range []*Model{plain, outer} {
		got := runModel(t, asWritten, m, x)
		if y, z := doubles(t, got[0]), doubles(t, got[1]); y[0] != -2 || z[0] != -1 || y[2] != 2 || z[2] != 2 {
			t.Errorf("y %v, z %v; expected slopes of 0.5 and 0.25", y, z)
		}
	}
	for want, change := range map[string]func(*Model){
		"is written for opset 19": func(m *Model) { m.Functions[0].Opsets[0].Version = 19 },
		"holds a graph of its own": func(m *Model) {
			m.Functions[0].Nodes[0].Attributes = []*Attribute{{Name: "g", Kind: KindGraph, G: &Graph{}}}
		},
		"calls too many others": func(m *Model) {
			m.Functions[0].Nodes[0] = &Node{Name: "n", Op: "Leaky", Domain: "own", Inputs: []string{"a"}, Outputs: []string{"b"}}
		},
		"function own.Both: 3 input": func(m *Model) { m.Graph.Nodes[0].Inputs = []string{"x", "x", "x"} },
	} {
		bad := m()
		change(bad)
		if _, err := Inline(bad, func(*Function) bool { return true }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected one with %q", err, want)
		}
	}
}
