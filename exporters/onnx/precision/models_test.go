package precision_test

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// subjects are models of ours, masked and insertion ones, and the files that somebody else exported.
var subjects = []struct {
	name, path string
	products   int // with constant weights that logits need and with 16 outputs or more
	weights    int // of them
	v, l       int64
}{
	{"sudoku", "../../../framework/model/embedded/sudoku/onnx/model.onnx", 36, 36, 11, 81},
	{"text", "../../../framework/model/embedded/text/onnx/model.onnx", 37, 37, 89, 50},
	{"molecule-insertion", "../../../framework/model/embedded/molecule-insertion/onnx/model.onnx", 25, 25, 33, 24},
	{"rxnmapper-albert", "../../../framework/model/embedded/rxnmapper-albert/onnx/model.onnx", 75, 9, 591, 24}, // whose layers share their weights
	{"rxnfp-bert", "../../../../shared/models/rxnfp-bert/onnx/model.onnx", 74, 74, 591, 24},
}

// precisions by name, and the largest share of the logits' standard deviation that they may be off by, as a root mean square.
var precisions = map[string]struct {
	make func(*graph.Model) (*graph.Model, error)
	off  float64
}{
	"int8":         {precision.Int8, 0.1},
	"fp16":         {precision.Half, 5e-3},
	"fp16-weights": {precision.HalfWeights, 5e-3},
	"residuals":    {func(m *graph.Model) (*graph.Model, error) { return precision.Residuals(m), nil }, 1e-5},
}

// TestModels: every precision of every model is a valid graph, the same each time, whose answers are near the original's; with open and with
// fixed shapes. The original stays as it is.
func TestModels(t *testing.T) {
	d := device(t)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			if _, err := os.Stat(s.path); os.IsNotExist(err) && s.name == "rxnfp-bert" {
				t.Skipf("%s is not there; it is no part of the repository", s.path)
			}
			source, err := graph.Open(filepath.FromSlash(s.path))
			if err != nil {
				t.Fatal(err)
			}
			before := source.Encode()
			ints, floats := batch(source, 3, s.l, s.v)
			dims := map[string]int64{"B": 3, "L": s.l}
			for _, in := range source.Graph.Feeds() { // whatever names the file has for them
				for i, size := range []int64{3, s.l} {
					if i < len(in.Shape) && in.Shape[i].Name != "" {
						dims[in.Shape[i].Name] = size
					}
				}
			}
			want := run(t, t, d, source, dims, ints, floats)
			for _, name := range slices.Sorted(maps.Keys(precisions)) {
				p := precisions[name]
				models := []*graph.Model{source}
				if name == "int8" || name == "fp16" {
					models = append(models, fixed(source, 3, s.l))
				}
				for _, m := range models {
					got, err := p.make(m)
					if err != nil {
						t.Fatal(name, err)
					}
					if err := graph.Check(got); err != nil {
						t.Fatal(name, err)
					}
					again, _ := p.make(m)
					if !bytes.Equal(got.Encode(), again.Encode()) {
						t.Errorf("%s: another graph the second time", name)
					}
					if n := count(got, "MatMulInteger"); name[:4] == "int8" && (n != s.products || int8s(got) != s.weights) {
						t.Errorf("%s: %d products of %d weights, want %d of %d", name, n, int8s(got), s.products, s.weights)
					}
					out := run(t, t, d, got, dims, ints, floats)
					for o := range want {
						if off := distance(want[o], out[o]); !(off <= p.off) {
							t.Errorf("%s: %s off by %g of its standard deviation, want at most %g", name, o, off, p.off)
						}
					}
				}
			}
			if !bytes.Equal(before, source.Encode()) {
				t.Error("the original was changed")
			}
		})
	}
}

// batch are rows of tokens, half of them masks or whatever the last id is, without padding.
func batch(m *graph.Model, b, l, v int64) (map[string][]int64, map[string][]float32) {
	ints, floats := map[string][]int64{}, map[string][]float32{}
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range m.Graph.Feeds() {
		n := b
		if len(in.Shape) > 1 {
			n *= l
		}
		for range n {
			switch {
			case in.Name == "input_ids":
				id := v - 1
				if r.IntN(2) > 0 {
					id = r.Int64N(v)
				}
				ints[in.Name] = append(ints[in.Name], id)
			case in.Name == "attention_mask":
				ints[in.Name] = append(ints[in.Name], 1)
			case in.Type == graph.Int64:
				ints[in.Name] = append(ints[in.Name], 0)
			default:
				floats[in.Name] = append(floats[in.Name], r.Float32())
			}
		}
	}
	return ints, floats
}

// fixed is the model for b rows of l positions alone.
func fixed(m *graph.Model, b, l int64) *graph.Model {
	out, g := *m, *m.Graph
	out.Graph, g.Inputs, g.Values = &g, nil, nil
	for _, in := range m.Graph.Inputs {
		v := *in
		v.Shape = []graph.Dim{graph.Known(b), graph.Known(l)}[:len(in.Shape)]
		g.Inputs = append(g.Inputs, &v)
	}
	return &out
}

func int8s(m *graph.Model) (n int) {
	for _, t := range m.Graph.Initializers {
		if t.Type == graph.Int8 {
			n++
		}
	}
	return n
}

// distance is the root mean square difference over the standard deviation of want.
func distance(want, got []float32) float64 {
	if len(want) != len(got) {
		return math.Inf(1)
	}
	mean, square, difference := 0.0, 0.0, 0.0
	for i, w := range want {
		mean += float64(w) / float64(len(want))
		square += float64(w) * float64(w) / float64(len(want))
		difference += math.Pow(float64(w)-float64(got[i]), 2) / float64(len(want))
	}
	return math.Sqrt(difference / max(square-mean*mean, 1e-9))
}
