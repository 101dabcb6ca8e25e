package foreign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// merged is small with one tensor of zeros in the place of two or more: through a chain of Identity nodes, listed among the inputs as
// old files do, and read by nodes whose names say nothing.
func merged(g *graph.Graph) {
	zeros := graph.OfFloats("zeros", []int64{4}, make([]float32, 4))
	g.Initializers = append(g.Initializers, zeros)
	g.Inputs = append(g.Inputs, &graph.ValueInfo{Name: "zeros", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Known(4)}})
	g.Values = []*graph.ValueInfo{{Name: "copy", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Known(4)}}}
	gather, head := g.Nodes[0], g.Nodes[1]
	head.Inputs[0] = "h3"
	g.Nodes = []*graph.Node{gather,
		{Op: "Identity", Inputs: []string{"zeros"}, Outputs: []string{"copy"}},
		{Op: "Identity", Inputs: []string{"copy"}, Outputs: []string{"last.bias"}},
		{Op: "Add", Inputs: []string{"h", "zeros"}, Outputs: []string{"h1"}},
		{Op: "Add", Inputs: []string{"h1", "copy"}, Outputs: []string{"h2"}},
		{Op: "Add", Inputs: []string{"last.bias", "h2"}, Outputs: []string{"h3"}},
		head}
}

func TestMergedTensors(t *testing.T) {
	file := small(merged)
	n, r := network(t, file, foreign.Options{})
	want := []string{"embed.weight", "zeros", "copy", "last.bias", "head.weight"}
	if d := cmp.Diff(want, parameters(n)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]foreign.Unshared{{Tensor: "zeros", Parts: want[1:4]}}, r.Unshared); d != "" {
		t.Error(d)
	}
	in := batch{rows: 1, length: 3, ids: []int64{4, 2, 1}}
	roundTrip(t, file, n, r, in)

	// Names that say nothing: one tensor for each node.
	n, _ = network(t, small(merged, func(g *graph.Graph) {
		g.Nodes = append(g.Nodes[:1], g.Nodes[3:]...)
		g.Nodes[2].Inputs[1], g.Nodes[3].Inputs[0] = "zeros", "zeros"
	}), foreign.Options{})
	if d := cmp.Diff([]string{"embed.weight", "zeros", "add.bias", "add.bias_2", "head.weight"}, parameters(n)); d != "" {
		t.Error(d)
	}
}

// A large tensor that is not trained stands once in a graph that calls the network twice.
func TestLargeConstants(t *testing.T) {
	file := small(func(g *graph.Graph) {
		g.Initializers[0] = named(normal(2000, 4), "embed.weight")
	})
	n, _ := network(t, file, foreign.Options{Freeze: []string{"embed.*"}})
	b := graph.NewBuilder("test", n.Opset())
	params := map[string]graph.Value{"head.weight": b.Initializer(graph.OfFloats("w", []int64{4, 6}, n.Values()[0]))}
	ids := map[string]graph.Value{"input_ids": b.Input("input_ids", graph.Int64, graph.Dims("B", "L")...)}
	first := n.Build(b, params, ids)["logits"]
	m, err := b.Model(graph.Output{Name: "logits", Value: b.Add(first, n.Build(b, params, ids)["logits"])})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Graph.Initializers) != 2 {
		t.Errorf("%d tensors in the graph, want 2", len(m.Graph.Initializers))
	}
	in := batch{rows: 1, length: 2, ids: []int64{1999, 7}}
	twice := logits(t, file, in)
	for i := range twice {
		twice[i] *= 2
	}
	if w := worst(t, twice, logits(t, m, in)); w != 0 {
		t.Error(w)
	}
}
