package train

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
)

// exported is a model's ONNX file as it samples, in the eyes of the artifacts: its weights are constants, so that any model
// can be measured, of whatever operators and precision.
type exported struct {
	*model.Model
	graph     *graph.Model // without what only a statistics head needs, such as the input temperature
	constants []constant   // large ones
}

// constant is a tensor of the file under a name that is not taken in the graphs that call the network.
type constant struct {
	name   string // in the file
	tensor *graph.Tensor
}

// large is the size in bytes from which a constant is written once, however often the network is called.
const large = 4096

func newExported(m *model.Model) *exported {
	e := &exported{Model: m}
	var outputs []string
	for _, p := range e.Signature().Outputs {
		outputs = append(outputs, p.Name)
	}
	e.graph = graph.Keep(m.Graph, outputs...)
	for _, t := range e.graph.Graph.Initializers {
		if len(t.Raw) >= large || t.IsExternal() {
			own := *t
			own.Name = "denoiser/" + t.Name
			e.constants = append(e.constants, constant{t.Name, &own})
		}
	}
	return e
}

// Parameters implements [artifact.Network]: nothing is trained.
func (e *exported) Parameters() []artifact.Parameter { return nil }

// Signature implements [artifact.Network].
func (e *exported) Signature() graph.Signature {
	size := func(fixed int, name string) graph.Dim {
		if fixed > 0 {
			return graph.Known(int64(fixed))
		}
		return graph.Named(name)
	}
	rows, length := size(e.FixedRows(), "B"), size(e.FixedLength(), "L")
	s := graph.Signature{Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: []graph.Dim{rows, length}}}}
	if e.AttentionMask {
		s.Inputs = append(s.Inputs, graph.Port{Name: "attention_mask", Type: graph.Int64, Shape: []graph.Dim{rows, length}})
	}
	if e.Timesteps {
		s.Inputs = append(s.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: []graph.Dim{rows}})
	}
	s.Outputs = []graph.Port{{Name: "logits", Type: graph.Float32, Shape: []graph.Dim{rows, length, graph.Known(int64(e.V))}}}
	if e.InsertionRate {
		s.Outputs = append(s.Outputs, graph.Port{Name: "insertion_rate", Type: graph.Float32, Shape: []graph.Dim{rows, length.Plus(graph.Known(1))}})
	}
	if e.UnmaskRate {
		s.Outputs = append(s.Outputs, graph.Port{Name: "unmask_rate", Type: graph.Float32, Shape: []graph.Dim{rows, length}})
	}
	return s
}

// Build implements [artifact.Network].
func (e *exported) Build(b *graph.Builder, _, inputs map[string]graph.Value) map[string]graph.Value {
	bind := map[string]graph.Value{}
	for _, c := range e.constants {
		v, ok := b.Value(c.tensor.Name)
		if !ok {
			v = b.Initializer(c.tensor)
		}
		bind[c.name] = v
	}
	for _, v := range e.graph.Graph.Feeds() {
		bind[v.Name] = e.feed(b, v.Name, inputs)
	}
	all, out := b.Replay(e.graph, bind, nil), map[string]graph.Value{}
	for _, p := range e.Signature().Outputs {
		out[p.Name] = b.Cast(all[p.Name], graph.Float32)
	}
	if logits := out["logits"]; e.Manifest.LogitsShift != 0 { // to where their tokens are
		out["logits"] = b.Concat(1, b.Slice(logits, 1, 0, 1), b.Slice(logits, 1, 0, -1))
	}
	return out
}

// feed is the value behind an input of the file.
func (e *exported) feed(b *graph.Builder, name string, inputs map[string]graph.Value) graph.Value {
	ids, given := inputs["input_ids"], inputs[name]
	switch {
	case name == "timesteps" && given.Given() && (*e.Manifest.Time.NoiseAt == 0) != e.Insertion(): // trainers count from 1, where everything is masked, but those of insertion from 0
		return b.Sub(b.Float(1), given)
	case given.Given():
		return given
	case name == "attention_mask":
		return b.ExpandLike(b.Int(1), ids)
	case name == "token_type_ids":
		return b.Zeros(ids)
	case name == "position_ids":
		all := make([]int64, ids.Dim(1).Size) // evaluation graphs have known sizes
		for i := range all {
			all[i] = int64(i)
		}
		return b.ExpandLike(b.Constant(graph.OfInts("", []int64{1, int64(len(all))}, all)), ids)
	}
	return b.Fail("model %s: its input %s cannot be filled here; expected input_ids, attention_mask, timesteps, position_ids and token_type_ids", e.Name, name)
}
