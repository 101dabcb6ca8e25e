package onnx

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// fix returns the model for rows and length alone, 0: any. Sizes that the graph computes from those become constants.
func fix(m *graph.Model, name string, rows, length int) (*graph.Model, error) {
	if rows == 0 && length == 0 {
		return m, nil
	}
	b := graph.NewBuilder(m.Graph.Name, m.Opset(""))
	bind := map[string]graph.Value{}
	for _, in := range m.Graph.Feeds() {
		shape := slices.Clone(in.Shape)
		for i, to := range axes(in.Name, len(shape)) {
			n := map[byte]int{'B': rows, 'L': length}[to]
			switch {
			case n == 0:
			case shape[i].IsKnown() && shape[i].Size != int64(n):
				return nil, fmt.Errorf("model %s: input %s has %d in dimension %d, and --rows or --length wants %d; leave the option out, or export from a model with any size", name, in.Name, shape[i].Size, i, n)
			default:
				shape[i] = graph.Known(int64(n))
			}
		}
		bind[in.Name] = b.Input(in.Name, in.Type, shape...)
	}
	out := b.Replay(m, bind, nil)
	var outputs []graph.Output
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, graph.Output{Name: o.Name, Value: out[o.Name]})
	}
	fixed, err := b.Model(outputs...)
	if err != nil {
		return nil, fmt.Errorf("model %s: sizes cannot be fixed in its graph: %w; export without --rows and --length", name, err)
	}
	fixed.Metadata = m.Metadata
	return fixed, nil
}

// axes are the dimensions of an input, B and L where rows and length have a part.
func axes(name string, rank int) []byte {
	switch {
	case name == "attention_bias" && rank == 4:
		return []byte("B1LL")
	case name == "timesteps":
		return []byte("B1")[:min(rank, 2)]
	case rank == 2:
		return []byte("BL")
	}
	return nil
}
