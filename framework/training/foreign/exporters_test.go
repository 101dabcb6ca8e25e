package foreign_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// torchName is PyTorch's name of a parameter. Of the two names of a tied matrix, an exporter keeps either.
func torchName(p string) string {
	switch p {
	case "cls.predictions.decoder.weight":
		return "bert.embeddings.word_embeddings.weight"
	case "bert.embeddings.table_2":
		return "bert.embeddings.position_embeddings.weight"
	}
	return p
}

// Every way to export the same denoisers gives what PyTorch computes, the parameters that PyTorch has, and their gradients.
func TestExporters(t *testing.T) {
	g, in := readGolden(t)
	for _, name := range slices.Sorted(maps.Keys(g.Models)) {
		t.Run(name, func(t *testing.T) {
			want := g.Models[name]
			n, report := network(t, read(t, "testdata/"+name+".onnx"), foreign.Options{Name: name, Positions: 16})
			if w := worst(t, want.Logits, logits(t, built(t, n, n.Values()), in)); !(w < 1e-5) {
				t.Errorf("the logits differ by %g", w)
			}
			left := maps.Clone(want.Shapes)
			for _, p := range n.Parameters() {
				shape, ok := left[torchName(p.Name)]
				if !ok {
					t.Errorf("PyTorch has no parameter %s", p.Name)
				}
				delete(left, torchName(p.Name))
				if volume(shape) != p.Size() && len(report.Sliced) == 0 {
					t.Errorf("%s is %v, want %v", p.Name, p.Shape, shape)
				}
				if p.Decay != (len(shape) == 2) || p.Rate != 1 {
					t.Errorf("%s: decay %v, rate %g", p.Name, p.Decay, p.Rate)
				}
			}
			if name == "dynamo18_static" {
				delete(left, "bert.embeddings.token_type_embeddings.weight") // folded away
			}
			if len(left) > 0 {
				t.Errorf("parameters are missing: %v", left)
			}
			gradients(t, n, want.Gradients, in)
		})
	}
}

func volume(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// gradients compares those of sum_i sin(i) logits_i.
func gradients(t *testing.T, n *foreign.Network, want map[string][]float32, in batch) {
	t.Helper()
	b := graph.NewBuilder("gradients", n.Opset())
	params, inputs := map[string]graph.Value{}, map[string]graph.Value{}
	in.params = map[string][]float32{}
	var wrt []graph.Value
	values := n.Values()
	for i, p := range n.Parameters() {
		shape := make([]graph.Dim, len(p.Shape))
		for j, d := range p.Shape {
			shape[j] = graph.Known(d)
		}
		params[p.Name] = b.Input(p.Name, graph.Float32, shape...)
		wrt = append(wrt, params[p.Name])
		in.params[p.Name] = values[i]
	}
	for _, p := range n.Signature().Inputs {
		inputs[p.Name] = b.Input(p.Name, p.Type, p.Shape...)
	}
	flat := b.Reshape(n.Build(b, params, inputs)["logits"], graph.Dim{Size: -1})
	weights := make([]float32, len(in.ids)*13)
	for i := range weights {
		weights[i] = float32(math.Sin(float64(i)))
	}
	loss := b.ReduceSum(b.Mul(flat, b.Floats([]int64{int64(len(weights))}, weights)), false)
	grads, err := autodiff.Gradients(b, loss, wrt, autodiff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var outputs []graph.Output
	var asked []string
	for i, p := range n.Parameters() {
		asked = append(asked, "gradient of "+p.Name)
		outputs = append(outputs, graph.Output{Name: asked[i], Value: grads[i]})
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	got := run(t, m, in, asked...)
	for i, p := range n.Parameters() {
		w := want[torchName(p.Name)]
		g := got[asked[i]]
		w = w[:min(len(w), len(g))] // of a table that was cut
		scale := 0.0
		for _, x := range w {
			scale = max(scale, math.Abs(float64(x)))
		}
		e := worst(t, w, g)
		if len(p.Shape) == 2 {
			e = min(e, worst(t, w, transposed(g, int(p.Shape[0]), int(p.Shape[1]))))
		}
		if strings.HasSuffix(p.Name, "key.bias") { // zero, but for rounding: softmax does not see it
			scale = 1
		}
		if e /= scale; !(e < 1e-4) {
			t.Errorf("%s: the gradient differs by %g of its largest element", p.Name, e)
		}
		largest = max(largest, e)
	}
	t.Logf("gradients differ by %.1e at most", largest)
}

func transposed(v []float32, rows, columns int) []float32 {
	out := make([]float32, 0, len(v))
	for j := range columns {
		for i := range rows {
			out = append(out, v[i*columns+j])
		}
	}
	return out
}

func TestReport(t *testing.T) {
	tied := func(tensor, parameter string) []foreign.Tied {
		return []foreign.Tied{{Parameter: parameter, Tensor: tensor, Transposed: true}}
	}
	const word, decoder = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
	for name, want := range map[string]struct {
		tied                []foreign.Tied
		told                []int // parts of the merged tensors
		shared              int
		rows, length, count int
		frozen              []string
		sliced              []string
	}{
		"legacy17":                {tied: tied("onnx::MatMul_295", word), told: []int{6, 17, 2}, shared: 1, count: 42},
		"legacy17_nofold":         {told: []int{6, 17, 2}, shared: 1, count: 42}, // the tie is in the graph
		"legacy17_static":         {tied: tied("onnx::MatMul_291", word), told: []int{6, 17, 2}, shared: 1, count: 42, rows: 3, length: 10},
		"legacy17_shared":         {tied: tied("onnx::MatMul_279", word), told: []int{4, 10}, shared: 17, count: 26},
		"legacy17_shared_trained": {tied: tied("onnx::MatMul_279", word), shared: 17, count: 26},
		"dynamo18_shared":         {tied: tied("val_150", decoder), told: []int{4, 10}, shared: 17, count: 26},
		"dynamo23_trained":        {tied: tied("val_121", decoder), shared: 1, count: 42},
		"dynamo18_static": {tied: tied("val_125", decoder), told: []int{6, 17, 2}, shared: 1, count: 41, rows: 3, length: 10,
			frozen: []string{"bert.embeddings.table"}, sliced: []string{"bert.embeddings.table_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := network(t, read(t, "testdata/"+name+".onnx"), foreign.Options{Positions: 16})
			var told []int
			for _, u := range r.Unshared {
				told = append(told, len(u.Parts))
			}
			var frozen []string
			for _, f := range r.Frozen {
				frozen = append(frozen, f.Name)
			}
			check := func(what string, want, got any) {
				t.Helper()
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s:\n%s\n%s", what, d, r)
				}
			}
			check("tied", want.tied, r.Tied)
			check("told apart", want.told, told)
			check("shared", want.shared, len(r.Shared))
			check("parameters", want.count, r.Parameters)
			check("fixed", []int{want.rows, want.length}, []int{r.Rows, r.Length})
			check("frozen", want.frozen, frozen)
			check("sliced", want.sliced, r.Sliced)
		})
	}
}

// Untied leaves what folding did.
func TestUntied(t *testing.T) {
	n, r := network(t, read(t, "testdata/dynamo23_trained.onnx"), foreign.Options{Untied: true})
	if len(r.Tied) != 0 || len(n.Parameters()) != 43 {
		t.Errorf("%d parameters, tied %v", len(n.Parameters()), r.Tied)
	}
}
