package foreign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// Inputs that a trainer does not know are supplied, types are those of the file, and what was left out has its default.
func TestInputs(t *testing.T) {
	fixed := []graph.Dim{graph.Known(2), graph.Known(3)}
	open := []graph.Dim{graph.Named("x"), graph.Named("y")}
	for name, ids := range map[string][]graph.Dim{"fixed": fixed, "open": open} {
		for form, times := range map[string][]graph.Dim{"vector": ids[:1], "column": {ids[0], graph.Known(1)}} {
			t.Run(name+"/"+form, func(t *testing.T) {
				file := everyInput(ids, times)
				n, _ := network(t, file, foreign.Options{Name: "every"})
				b, l := n.Signature().Inputs[0].Shape[0], n.Signature().Inputs[0].Shape[1]
				want := graph.Signature{
					Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: []graph.Dim{b, l}}, {Name: "attention_mask", Type: graph.Int64, Shape: []graph.Dim{b, l}},
						{Name: "timesteps", Type: graph.Float32, Shape: []graph.Dim{b}}},
					Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: []graph.Dim{b, l, graph.Known(4)}}},
				}
				if name == "open" && (b.Name != "B" || l.Name != "L") || name == "fixed" && (b.Size != 2 || l.Size != 3) {
					t.Errorf("batch %v, length %v", b, l)
				}
				if d := cmp.Diff(want, n.Signature()); d != "" {
					t.Error(d)
				}
				in := batch{rows: 2, length: 3, ids: []int64{0, 1, 2, 3, 4, 0}, mask: []int64{1, 1, 1, 1, 0, 0}, times: []float32{0.25, 0.75}}
				if w := worst(t, logits(t, file, in), logits(t, built(t, n, n.Values()), in)); w != 0 {
					t.Errorf("the logits differ by %g", w)
				}

				// All but the ids and the time left out, and the network called twice in a graph.
				g := graph.NewBuilder("test", n.Opset())
				id, time := g.Input("input_ids", graph.Int64, b, l), g.Input("timesteps", graph.Float32, b)
				params := map[string]graph.Value{}
				for i, p := range n.Parameters() {
					params[p.Name] = g.Initializer(graph.OfFloats(p.Name, p.Shape, n.Values()[i]))
				}
				inputs := map[string]graph.Value{"input_ids": id, "timesteps": time}
				n.Build(g, params, inputs)
				m, err := g.Model(graph.Output{Name: "logits", Value: n.Build(g, params, inputs)["logits"]})
				if err != nil {
					t.Fatal(err)
				}
				in.mask = []int64{1, 1, 1, 1, 1, 1}
				if w := worst(t, logits(t, file, in), logits(t, m, in)); w != 0 {
					t.Errorf("with defaults the logits differ by %g", w)
				}
			})
		}
	}
}

// everyInput is a denoiser with all inputs, in the types that an exporter may choose.
func everyInput(ids, times []graph.Dim) *graph.Model {
	b := graph.NewBuilder("every", 20)
	id := b.Input("input_ids", graph.Int32, ids...)
	mask := b.Input("attention_mask", graph.Float32, ids...)
	types := b.Input("token_type_ids", graph.Int64, ids...)
	positions := b.Input("position_ids", graph.Int32, ids...)
	time := b.Input("timesteps", graph.Float32, times...)
	table := func(name string, dims ...int64) graph.Value { return b.Initializer(named(normal(dims...), name)) }
	h := b.Gather(table("words", 5, 4), id, 0)
	h = b.Add(h, b.Gather(table("types", 2, 4), types, 0))
	h = b.Add(h, b.Gather(table("places", 7, 4), positions, 0))
	h = b.Mul(h, b.Unsqueeze(mask, 2))
	if len(times) == 1 {
		time = b.Unsqueeze(time, 1)
	}
	m, err := b.Model(graph.Output{Name: "logits", Value: b.Mul(h, b.Unsqueeze(time, 2))})
	if err != nil {
		panic(err)
	}
	return m
}

func TestBuildFaults(t *testing.T) {
	n, _ := network(t, small(), foreign.Options{})
	b := graph.NewBuilder("test", 20)
	n.Build(b, nil, nil)
	wantError(t, b.Err(), "opset 17", "20")
	b = graph.NewBuilder("test", 17)
	n.Build(b, nil, nil)
	wantError(t, b.Err(), "embed.weight", "missing")
	b = graph.NewBuilder("test", 17)
	n.Build(b, map[string]graph.Value{"embed.weight": b.Float(0), "head.weight": b.Float(0)}, nil)
	wantError(t, b.Err(), "input_ids", "missing")
}
