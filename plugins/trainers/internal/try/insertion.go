package try

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Insertion is the signature of an insertion model's network: that of [Denoiser] with insertion_rate [B, L+1] and, if asked,
// unmask_rate [B, L].
func Insertion(v int, takesTime, rates bool) graph.Signature {
	s := Denoiser(v, takesTime)
	row := s.Inputs[0].Shape
	s.Outputs = append(s.Outputs, graph.Port{Name: "insertion_rate", Type: graph.Float32, Shape: []graph.Dim{row[0], row[1].Plus(graph.Known(1))}})
	if rates {
		s.Outputs = append(s.Outputs, graph.Port{Name: "unmask_rate", Type: graph.Float32, Shape: row})
	}
	return s
}

// Heads is one graph of a trainer of insertion models with everything that it is fed, what the networks give by the names of their
// outputs, and what must come out: the graph's outputs, what the denoiser is called with ("ids", "real", "timesteps") and, of
// a training graph, the loss's gradients for what the networks give ("grad." and the output's name).
type Heads struct {
	Name         string
	Graph        string // training or eval
	Options      json.RawMessage
	V            int
	Mask, Pad    int64
	Suppressed   []int64
	Rows, Length int64
	Feeds        map[string][]float64
	Gives        map[string][]float64 // logits [N, L, V], insertion_rate [N, L+1], unmask_rate [N, L], order [B, L, 2]
	Want         map[string][]float64
}

// Task is what the host would say of the case. The network has unmask_rate where the case gives it, and takes the time.
func (h *Heads) Task() spec.Task {
	return spec.Task{Options: h.Options, V: h.V, MaskID: h.Mask, PadID: h.Pad, Suppressed: h.Suppressed, Opset: graph.DefaultOpset,
		Denoiser: Insertion(h.V, true, h.Gives["unmask_rate"] != nil)}
}

// Build asks a trainer for the graph.
func (h *Heads) Build(t testing.TB, trainer spec.Trainer) []byte {
	t.Helper()
	reply, err := trainer.Build(t.Context(), h.Task())
	if err != nil {
		t.Fatal(err)
	}
	if h.Graph == "eval" {
		return reply.Eval
	}
	return reply.Training
}

// shape is that of an output of a network, [N, ...].
func (h *Heads) shape(output string) []graph.Dim {
	rest := map[string][]any{"logits": {h.Length, h.V}, "insertion_rate": {h.Length + 1}, "unmask_rate": {h.Length}, "order": {h.Length, 2}}[output]
	rest = append([]any{1}, rest...)
	shape := graph.Dims(rest...)
	shape[0] = graph.Known(int64(len(h.Gives[output])) / graph.Volume(shape).Size)
	return shape
}

// Open makes the graph ready to run, on so many threads; run runs it on the case's present numbers.
func (h *Heads) Open(t testing.TB, file []byte, threads int) func() map[string][]float32 {
	t.Helper()
	m, err := graph.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(h.Name, graph.DefaultOpset)
	bind := map[string]graph.Value{}
	for _, v := range m.Graph.Feeds() {
		bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
	}
	given := map[string]graph.Value{}
	for _, name := range slices.Sorted(maps.Keys(h.Gives)) {
		given[name] = b.Input("given."+name, graph.Float32, h.shape(name)...)
	}
	var outputs []graph.Output
	values := b.Replay(m, bind, func(n *graph.Node, in []graph.Value) (out []graph.Value) {
		if graph.Key(n) != "mdm.Network" {
			return nil
		}
		for i, name := range n.StringsAttr("inputs") {
			if to := map[string]string{"input_ids": "ids", "attention_mask": "real", "timesteps": "timesteps"}[name]; n.TextAttr("name", "") == spec.Denoiser {
				outputs = append(outputs, graph.Output{Name: to, Value: b.Cast(b.Identity(in[i]), graph.Float32)})
			}
		}
		for _, name := range n.StringsAttr("outputs") {
			out = append(out, given[name])
		}
		return out
	})
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, graph.Output{Name: o.Name, Value: values[o.Name]})
	}
	if loss, ok := values[spec.Loss]; ok {
		names := slices.Sorted(maps.Keys(given))
		by := make([]graph.Value, len(names))
		for i, name := range names {
			by[i] = given[name]
		}
		grads, err := autodiff.Gradients(b, loss, by, autodiff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			outputs = append(outputs, graph.Output{Name: "grad." + name, Value: grads[i]})
		}
	}
	run := Program(t, b, outputs, map[string]int64{"B": h.Rows, "L": h.Length}, threads)
	return func() map[string][]float32 {
		t.Helper()
		feeds := maps.Clone(h.Feeds)
		for name, numbers := range h.Gives {
			feeds["given."+name] = numbers
		}
		return run(feeds)
	}
}

// Agree holds every graph of a golden file against its numbers, each within 2e-5 of its size or of a tenth of the largest beside it:
// advantages and gradients are differences of bigger numbers.
func Agree(t *testing.T, path string, trainer func() spec.Trainer) {
	t.Helper()
	for _, h := range Goldens(t, path) {
		t.Run(h.Name, func(t *testing.T) {
			got := h.Open(t, h.Build(t, trainer()), 1)()
			if diff := cmp.Diff(slices.Sorted(maps.Keys(h.Want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("outputs of the %s graph (-golden file, +graph):\n%s", h.Graph, diff)
			}
			for name, want := range h.Want {
				scale := 1e-2
				for _, w := range want {
					scale = max(scale, math.Abs(w)/10)
				}
				for i, w := range want {
					if x := float64(got[name][i]); !(math.Abs(x-w) <= 2e-5*max(math.Abs(w), scale)) {
						t.Errorf("%s: %s[%d] is %.9g, want %.9g", h.Graph, name, i, x, w)
					}
				}
			}
		})
	}
}

// Goldens reads a golden file of insertion models.
func Goldens(t testing.TB, path string) (cases []Heads) {
	t.Helper()
	goldenfile.Read(t, path, &cases)
	return cases
}
