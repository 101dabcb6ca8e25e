package foreign

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// narrowTypes are those of weights that are stored in fewer bits than they are computed with.
var narrowTypes = map[graph.Type]safetensors.DType{graph.Float16: safetensors.F16, graph.BFloat16: safetensors.BF16}

// narrowTensors are the initialisers of such types, by name.
func narrowTensors(g *graph.Graph) map[string]*graph.Tensor {
	out := map[string]*graph.Tensor{}
	for _, t := range g.Initializers {
		if _, narrow := narrowTypes[t.Type]; narrow && len(t.Raw) > 0 {
			out[t.Name] = t
		}
	}
	return out
}

// widened is the float32 tensor of a Cast node that reads an initialiser stored in fewer bits, as in files of which only the
// storage is float16: training starts from these values, in float32.
func widened(n *graph.Node, narrow map[string]*graph.Tensor) (*graph.Tensor, error) {
	if n.Op != "Cast" || n.Domain != "" || len(n.Inputs) != 1 || len(n.Outputs) != 1 || graph.Type(n.IntAttr("to", 0)) != graph.Float32 {
		return nil, nil
	}
	t := narrow[n.Inputs[0]]
	if t == nil {
		return nil, nil
	}
	wide, err := safetensors.Tensor{Name: t.Name, DType: narrowTypes[t.Type], Shape: t.Dims, Data: t.Raw}.To(safetensors.F32)
	if err != nil {
		return nil, fmt.Errorf("node %s (Cast): %w", n.Name, err)
	}
	return &graph.Tensor{Name: n.Outputs[0], Type: graph.Float32, Dims: t.Dims, Raw: wide.Data}, nil
}
