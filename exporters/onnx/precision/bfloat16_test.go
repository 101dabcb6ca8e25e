package precision_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// wide is a model with bfloat16 as the CPU can run it: numbers keep the values that bfloat16 rounded them to, and are computed with in float32.
func wide(t *testing.T, m *graph.Model) (*graph.Model, int) {
	t.Helper()
	out, narrow := *m, 0
	widen := func(x *graph.Tensor) *graph.Tensor {
		if x.Type != graph.BFloat16 {
			return x
		}
		narrow++
		v, err := safetensors.Tensor{Name: x.Name, DType: safetensors.BF16, Shape: x.Dims, Data: x.Raw}.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return graph.OfFloats(x.Name, x.Dims, v)
	}
	g := *m.Graph
	g.Initializers, g.Nodes, g.Values = nil, nil, nil
	for _, x := range m.Graph.Initializers {
		g.Initializers = append(g.Initializers, widen(x))
	}
	for _, n := range m.Graph.Nodes {
		copied := *n
		switch {
		case n.Op == "Cast" && n.IntAttr("to", 0) == int64(graph.BFloat16):
			copied.Attributes = []*graph.Attribute{graph.Int("to", int64(graph.Float32))}
		case n.Op == "Constant":
			x, err := graph.ConstantTensor(n)
			if err != nil {
				t.Fatal(err)
			}
			copied.Attributes = []*graph.Attribute{graph.TensorValue("value", widen(x))}
		}
		g.Nodes = append(g.Nodes, &copied)
	}
	out.Graph = &g
	return &out, narrow
}

// With bfloat16 the weights of products are rounded to 8 bits, logits stay close, and inputs and outputs keep their types.
func TestBFloat16(t *testing.T) {
	d := device(t)
	for _, s := range subjects {
		if s.name != "sudoku" && s.name != "rxnmapper-albert" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			source, err := graph.Open(filepath.FromSlash(s.path))
			if err != nil {
				t.Fatal(err)
			}
			m, err := precision.BFloat16(source)
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Check(m); err != nil {
				t.Fatal(err)
			}
			for _, v := range append(slices.Clone(m.Graph.Inputs), m.Graph.Outputs...) {
				if v.Type == graph.BFloat16 || v.Type == graph.Float16 {
					t.Errorf("%s is %s", v.Name, v.Type)
				}
			}
			ints, floats := batch(source, 2, s.l, s.v)
			dims := map[string]int64{"B": 2, "L": s.l}
			for _, in := range source.Graph.Feeds() {
				for i, size := range []int64{2, s.l} {
					if i < len(in.Shape) && in.Shape[i].Name != "" {
						dims[in.Shape[i].Name] = size
					}
				}
			}
			runnable, narrow := wide(t, m)
			if narrow < s.weights {
				t.Errorf("%d tensors of bfloat16, want the %d weights of products at least", narrow, s.weights)
			}
			want, got := run(t, t, d, source, dims, ints, floats), run(t, t, d, runnable, dims, ints, floats)
			for o := range want {
				if off := distance(want[o], got[o]); !(off <= 4e-2) || off == 0 {
					t.Errorf("%s off by %g of its standard deviation, want at most 0.04, and not nothing", o, off)
				}
			}
		})
	}
}
