package ortartifact_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/ortartifact"
)

// artifacts is testdata/golden.json.gz.
type artifacts struct {
	Rows, Length int64
	InputIDs     []float64 `json:"input_ids"`
	Targets      []float64
	Weights      []float64
	Models       map[string]struct {
		Loss              float64
		Feeds             []string
		Gradients, Values map[string][]float64
	}
}

// The generator's training models run in the distributed runtime, from the generator's checkpoint, and give PyTorch's loss
// and gradients.
func TestArtifacts(t *testing.T) {
	var g artifacts
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	for name, want := range g.Models {
		t.Run(name, func(t *testing.T) {
			file := decode(t, name+".training.onnx")
			before := file.Encode()
			m, err := ortartifact.Adapt(file)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(before, file.Encode()) {
				t.Error("the original was changed")
			}
			for _, o := range m.Opsets {
				if o.Domain != "" && o.Domain != "com.microsoft" {
					t.Errorf("the domain %s is left", o.Domain)
				}
			}
			layout, err := ortartifact.Describe(m)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Feeds, sorted(layout.Feeds)); d != "" {
				t.Error(d)
			}
			feeds := map[string]array{layout.Reset: {Data: []float64{1}}}
			for n, v := range map[string][]float64{"input_ids": g.InputIDs, "targets": g.Targets, "weights": g.Weights} {
				feeds[n] = array{Data: v, Dims: []int64{g.Rows, g.Length}}
			}
			for _, p := range readCheckpoint(t, name).Trained {
				feeds[p.Name] = array{Data: doubles(numbers(p))}
			}
			asked := []string{layout.Loss}
			for _, p := range layout.Parameters {
				feeds[p.Buffer] = array{Data: ones(len(want.Values[p.Name]))}
				asked = append(asked, p.Gradient)
			}
			if len(layout.Parameters) != len(want.Gradients) {
				t.Errorf("%d parameters, want %d", len(layout.Parameters), len(want.Gradients))
			}
			first := run(t, m, feeds, asked...)
			if e := distance(t, []float64{want.Loss}, first[layout.Loss]); !(e < 1e-5) {
				t.Errorf("the loss is %g, want %g", first[layout.Loss], want.Loss)
			}
			feeds[layout.Reset] = array{Data: []float64{0}}
			added := run(t, m, feeds, asked...)
			worst := 0.0
			for _, p := range layout.Parameters {
				e := distance(t, want.Gradients[p.Name], first[p.Gradient])
				if worst = max(worst, e); !(e < 1e-4) {
					t.Errorf("%s: the gradient differs by %g of its largest element", p.Name, e)
				}
				for i, x := range first[p.Gradient] {
					if got := added[p.Gradient][i]; got != 1+x {
						t.Fatalf("%s: %g was added to 1 and gave %g", p.Name, x, got)
					}
				}
			}
			t.Logf("gradients differ by %.1e at most", worst)
		})
	}
}

// The evaluation model goes the same way.
func TestEvaluation(t *testing.T) {
	var g artifacts
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	m, err := ortartifact.Adapt(decode(t, "gelu.eval.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	feeds := map[string]array{"input_ids": {Data: g.InputIDs}, "targets": {Data: g.Targets}, "weights": {Data: g.Weights}}
	for _, p := range readCheckpoint(t, "gelu").Trained {
		feeds[p.Name] = array{Data: doubles(numbers(p))}
	}
	if got, want := run(t, m, feeds, "loss")["loss"], g.Models["gelu"].Loss; !(distance(t, []float64{want}, got) < 1e-5) {
		t.Errorf("the loss is %g, want %g", got, want)
	}
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}

func doubles(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

func TestRefusals(t *testing.T) {
	node := func(op string, in, out []string) *graph.Model {
		return &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "g",
			Nodes: []*graph.Node{{Name: "n1", Op: op, Domain: graph.Contrib, Inputs: in, Outputs: out}}}}
	}
	old := node("ReluGrad", []string{"a", "b"}, []string{"c"})
	old.Opsets[0].Version = 13
	aten := node("Gelu", []string{"a"}, []string{"b"})
	aten.Graph.Nodes[0].Domain = "org.pytorch.aten"
	loop := node("ReluGrad", []string{"a", "b"}, []string{"c"})
	loop.Graph.Nodes = []*graph.Node{{Name: "outer", Op: "If", Attributes: []*graph.Attribute{{Name: "then_branch", Kind: graph.KindGraph, G: loop.Graph}}}}
	loop.Graph = &graph.Graph{Name: "g", Nodes: loop.Graph.Nodes}
	loop.Graph.Nodes[0].Attributes[0].G = &graph.Graph{Nodes: old.Graph.Nodes}
	for name, c := range map[string]struct {
		m    *graph.Model
		want []string
	}{
		"unknown":     {node("ConvGrad", []string{"a"}, []string{"b"}), []string{"node n1", "com.microsoft.ConvGrad", "training build"}},
		"accumulator": {node("InPlaceAccumulatorV2", []string{"a", "b", "c"}, []string{"d"}), []string{"node n1", `buffer "a"`}},
		"old opset":   {old, []string{"opset is 13", "16"}},
		"aten":        {aten, []string{"org.pytorch.aten"}},
		"inner graph": {loop, []string{"node outer", "ReluGrad"}},
		"no mask":     {node("DropoutGrad", []string{"a", "", "r"}, []string{"b"}), []string{"node n1", "mask"}},
		"too many":    {node("TanhGrad", []string{"a", "y"}, []string{"b", "c"}), []string{"node n1", "output 1"}},
		"no graph":    {&graph.Model{}, []string{"no graph"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ortartifact.Adapt(c.m)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not tell %q", err, w)
				}
			}
		})
	}
	for _, m := range []*graph.Model{{}, node("Gelu", nil, nil)} {
		if _, err := ortartifact.Describe(m); err == nil {
			t.Error("no error")
		}
	}
}
