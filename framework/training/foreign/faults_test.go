package foreign_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q\ndoes not tell %q", err, p)
		}
	}
}

func normal(dims ...int64) *graph.Tensor {
	v := make([]float32, volume(dims))
	for i := range v {
		v[i] = float32(math.Sin(float64(i*i%97) + 0.3))
	}
	return graph.OfFloats("", dims, v)
}

func named(t *graph.Tensor, name string) *graph.Tensor {
	t.Name = name
	return t
}

// small is Gather [5, 4] -> MatMul [4, 6] with what a test adds.
func small(change ...func(g *graph.Graph)) *graph.Model {
	ids := []graph.Dim{graph.Named("b"), graph.Named("l")}
	m := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}, {Domain: "com.microsoft", Version: 1}}, Graph: &graph.Graph{
		Name: "small",
		Nodes: []*graph.Node{
			{Name: "/embed/Gather", Op: "Gather", Inputs: []string{"embed.weight", "input_ids"}, Outputs: []string{"h"}},
			{Name: "/head/MatMul", Op: "MatMul", Inputs: []string{"h", "onnx::MatMul_9"}, Outputs: []string{"logits"}}},
		Initializers: []*graph.Tensor{named(normal(5, 4), "embed.weight"), named(normal(4, 6), "onnx::MatMul_9")},
		Inputs:       []*graph.ValueInfo{{Name: "input_ids", Type: graph.Int64, HasRank: true, Shape: ids}},
		Outputs:      []*graph.ValueInfo{{Name: "logits", Type: graph.Float32, HasRank: true, Shape: append(ids[:2:2], graph.Known(6))}},
	}}
	for _, c := range change {
		c(m.Graph)
	}
	return m
}

// between puts a node between the two.
func between(n *graph.Node, more ...*graph.Tensor) func(*graph.Graph) {
	return func(g *graph.Graph) {
		n.Name = "/middle/" + n.Op
		n.Inputs, n.Outputs = append([]string{"h"}, n.Inputs...), []string{"h2"}
		g.Nodes[1].Inputs[0] = "h2"
		g.Nodes = slices.Insert(g.Nodes, 1, n)
		g.Initializers = append(g.Initializers, more...)
	}
}

func parameters(n *foreign.Network) []string {
	var out []string
	for _, p := range n.Parameters() {
		out = append(out, p.Name)
	}
	return out
}

func TestRefusals(t *testing.T) {
	input := func(name string, typ graph.Type, dims ...graph.Dim) func(*graph.Graph) {
		return func(g *graph.Graph) {
			g.Inputs = append(g.Inputs, &graph.ValueInfo{Name: name, Type: typ, HasRank: true, Shape: dims})
		}
	}
	truth := &graph.Tensor{Name: "truth", Type: graph.Bool, Raw: []byte{1}}
	for name, c := range map[string]struct {
		change func(*graph.Graph)
		want   []string
	}{
		"control flow":   {between(&graph.Node{Op: "Loop", Attributes: []*graph.Attribute{{Name: "body", Kind: graph.KindGraph, G: &graph.Graph{}}}}), []string{"/middle/Loop", "operator Loop", "control flow"}},
		"quantised":      {between(&graph.Node{Op: "DequantizeLinear"}), []string{"/middle/DequantizeLinear", "quantise it afterwards"}},
		"random":         {between(&graph.Node{Op: "RandomNormalLike"}), []string{"/middle/RandomNormalLike", "model.eval()"}},
		"dropout":        {between(&graph.Node{Op: "Dropout", Inputs: []string{"", "truth"}}, truth), []string{"/middle/Dropout", "model.eval()"}},
		"fused":          {between(&graph.Node{Op: "SkipLayerNormalization", Domain: "com.microsoft"}), []string{"/middle/SkipLayerNormalization", "com.microsoft.SkipLayerNormalization", "as it was exported"}},
		"unknown":        {between(&graph.Node{Op: "GridSample", Inputs: []string{"embed.weight"}}), []string{"/middle/GridSample", "operator GridSample", "not supported"}},
		"wrong shapes":   {between(&graph.Node{Op: "Add", Inputs: []string{"w"}}, named(normal(3), "w")), []string{"/middle/Add", "shapes"}},
		"half precision": {func(g *graph.Graph) { halve(g) }, []string{"/embed/Gather", "embed.weight", "float16", "export the model in float32"}},
		"no ids":         {func(g *graph.Graph) { g.Inputs[0].Name = "tokens" }, []string{`"tokens"`, "input_ids"}},
		"other input":    {input("image", graph.Float32, graph.Named("b")), []string{`"image"`, "timesteps"}},
		"wrong type":     {input("timesteps", graph.Int64, graph.Named("b")), []string{"timesteps", "float32"}},
		"two batch sizes": {func(g *graph.Graph) {
			g.Inputs[0].Shape[0] = graph.Known(2)
			input("timesteps", graph.Float32, graph.Known(3))(g)
		}, []string{"timesteps", "dynamic axes"}},
		"no logits":        {func(g *graph.Graph) { g.Outputs[0].Name, g.Outputs[0].Shape = "hidden", g.Outputs[0].Shape[:2] }, []string{"hidden", "logits"}},
		"truncated":        {func(g *graph.Graph) { g.Initializers[0].Raw = g.Initializers[0].Raw[:8] }, []string{`"embed.weight"`, "80"}},
		"nothing to train": {func(g *graph.Graph) { g.Initializers = nil; g.Nodes = noWeights }, []string{"nothing is left to train"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := foreign.Read(small(c.change), foreign.Options{Name: "tiny"})
			wantError(t, err, append(c.want, "model tiny: ")...)
			t.Log(err)
		})
	}
	for name, m := range map[string]*graph.Model{
		"no graph": {}, "opset 13": {Opsets: []graph.Opset{{Version: 13}}, Graph: &graph.Graph{}},
		"functions": {Opsets: []graph.Opset{{Version: 18}}, Graph: &graph.Graph{}, Functions: []*graph.Function{{Name: "f"}}},
	} {
		if _, _, err := foreign.Read(m, foreign.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// noWeights is logits = 1 of the ids, as floats.
var noWeights = []*graph.Node{
	{Op: "Cast", Inputs: []string{"input_ids"}, Outputs: []string{"f"}, Attributes: []*graph.Attribute{graph.Int("to", 1)}},
	{Op: "Constant", Outputs: []string{"axes"}, Attributes: []*graph.Attribute{graph.TensorValue("value", graph.OfInts("", []int64{1}, []int64{2}))}},
	{Op: "Unsqueeze", Inputs: []string{"f", "axes"}, Outputs: []string{"logits"}},
}

func halve(g *graph.Graph) {
	for _, t := range g.Initializers {
		t.Type, t.Raw = graph.Float16, make([]byte, 2*volume(t.Dims))
	}
	g.Nodes[1].Outputs[0] = "half"
	g.Nodes = append(g.Nodes, &graph.Node{Op: "Cast", Inputs: []string{"half"}, Outputs: []string{"logits"}, Attributes: []*graph.Attribute{graph.Int("to", 1)}})
}

// What looks like a constant stays one, unless the patterns say otherwise.
func TestConstants(t *testing.T) {
	table := func(f func(i int) float64, dims ...int64) *graph.Tensor {
		v := make([]float32, volume(dims))
		for i := range v {
			v[i] = float32(f(i))
		}
		return graph.OfFloats("table", dims, v)
	}
	add := &graph.Node{Op: "Add", Inputs: []string{"table"}}
	for name, c := range map[string]struct {
		table  *graph.Tensor
		frozen string
	}{
		"learned":     {table(func(i int) float64 { return float64(i) * 0.1 }, 1, 1, 4), ""},
		"mask":        {table(func(i int) float64 { return math.Inf(-i) }, 1, 1, 4), "a mask"},
		"finite mask": {table(func(i int) float64 { return -math.MaxFloat32 * float64(i%2) }, 1, 1, 4), "a mask"},
		"positions": {table(func(i int) float64 {
			return math.Sin(float64(i/2)/3 + float64(i%2)*math.Pi/2)
		}, 1, 1, 4), "sines and cosines"},
	} {
		t.Run(name, func(t *testing.T) {
			node := *add
			node.Inputs = []string{"table"}
			_, r := network(t, small(between(&node, c.table)), foreign.Options{})
			got := ""
			for _, f := range r.Frozen {
				got = f.Reason
			}
			if got != c.frozen {
				t.Errorf("frozen: %q, want %q\n%s", got, c.frozen, r)
			}
			node = *add
			node.Inputs = []string{"table"}
			n, _ := network(t, small(between(&node, c.table)), foreign.Options{Train: []string{"table", "embed.*"}})
			if d := cmp.Diff([]string{"embed.weight", "table"}, parameters(n)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The frequencies of a rotary embedding go into sines and cosines alone.
func TestFrequencies(t *testing.T) {
	m := small(between(&graph.Node{Op: "Mul", Inputs: []string{"wave"}}, named(normal(4), "inv")))
	m.Graph.Nodes = slices.Insert(m.Graph.Nodes, 0,
		&graph.Node{Op: "Cast", Inputs: []string{"input_ids"}, Outputs: []string{"f"}, Attributes: []*graph.Attribute{graph.Int("to", 1)}},
		&graph.Node{Op: "Constant", Outputs: []string{"axes"}, Attributes: []*graph.Attribute{graph.TensorValue("value", graph.OfInts("", []int64{1}, []int64{2}))}},
		&graph.Node{Op: "Unsqueeze", Inputs: []string{"f", "axes"}, Outputs: []string{"column"}},
		&graph.Node{Op: "Mul", Inputs: []string{"column", "inv"}, Outputs: []string{"angle"}},
		&graph.Node{Op: "Cos", Inputs: []string{"angle"}, Outputs: []string{"wave"}})
	n, r := network(t, m, foreign.Options{})
	if d := cmp.Diff([]foreign.Frozen{{Name: "inv", Reason: "frequencies of sines and cosines"}}, r.Frozen); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"embed.weight", "head.weight"}, parameters(n)); d != "" {
		t.Error(d)
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ train, freeze, want []string }{
		{nil, []string{"bert.*"}, []string{"cls.predictions.transform.dense.weight", "cls.predictions.transform.dense.bias", "cls.predictions.transform.LayerNorm.weight", "cls.predictions.transform.LayerNorm.bias", "cls.predictions.bias"}},
		{[]string{"*.query.*"}, []string{"*.bias"}, []string{"bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.1.attention.self.query.weight"}},
	} {
		n, r := network(t, read(t, "testdata/legacy17.onnx"), foreign.Options{Train: c.train, Freeze: c.freeze})
		if d := cmp.Diff(c.want, parameters(n)); d != "" {
			t.Error(d)
		}
		if len(r.Frozen)+len(c.want) != 42 {
			t.Error(r)
		}
	}
	for _, o := range []foreign.Options{{Train: []string{"nothing"}}, {Freeze: []string{"["}}, {Freeze: []string{"*"}}} {
		_, _, err := foreign.Read(small(), o)
		wantError(t, err, "model small")
		t.Log(err)
	}
}

// Weights that lie in another file are read, checked, and part of what is exported.
func TestExternalData(t *testing.T) {
	whole := small()
	dir := t.TempDir()
	raw := whole.Graph.Initializers[1].Raw
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), append(make([]byte, 16), raw...), 0o600); err != nil {
		t.Fatal(err)
	}
	external := func(location, offset string) *graph.Model {
		return small(func(g *graph.Graph) {
			g.Initializers[1].Raw = nil
			g.Initializers[1].External = []graph.Entry{{Key: "location", Value: location}, {Key: "offset", Value: offset}, {Key: "length", Value: "96"}}
		})
	}
	n, _ := network(t, again(t, external("w.bin", "16")), foreign.Options{Dir: dir})
	want, _ := network(t, whole, foreign.Options{})
	if d := cmp.Diff(want.Values(), n.Values()); d != "" {
		t.Error(d)
	}
	in := batch{rows: 2, length: 3, ids: []int64{0, 1, 2, 3, 4, 0}}
	m, err := n.Export(n.Values())
	if err != nil {
		t.Fatal(err)
	}
	if w := worst(t, logits(t, whole, in), logits(t, m, in)); w != 0 {
		t.Error(w)
	}
	for _, c := range [][3]string{{"w.bin", "17", "truncated"}, {"gone.bin", "0", "missing"}, {"../w.bin", "0", "folder"}, {"w.bin", "-1", "offset"}} {
		_, _, err := foreign.Read(again(t, external(c[0], c[1])), foreign.Options{Dir: dir})
		wantError(t, err, `"onnx::MatMul_9"`, c[2])
	}
	_, _, err = foreign.Read(again(t, external("w.bin", "16")), foreign.Options{})
	wantError(t, err, "folder")
}
