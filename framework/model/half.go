package model

import (
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Half returns the model with its float32 matrices stored as float16, which halves the file; vectors stay, and so do tables of angles
// and frequencies, whose errors grow with position and time. A Cast behind each
// keeps the computation in float32, and ONNX Runtime does it once, when it loads the model. The error names a tensor
// beyond float16's range.
func Half(m *graph.Model) (*graph.Model, error) {
	out, g := *m, *m.Graph
	out.Graph = &g
	g.Initializers, g.Nodes = nil, nil
	exact := map[string]bool{} // factors and tables of rotations
	for _, n := range m.Graph.Nodes {
		switch n.Op {
		case "RotaryEmbedding", "Mul", "Div", "Sub", "Pow", "Sin", "Cos":
			for _, in := range n.Inputs {
				exact[in] = true
			}
		}
	}
	for _, t := range m.Graph.Initializers {
		if exact[t.Name] || t.Type != graph.Float32 || len(t.Dims) < 2 || t.IsExternal() || len(t.Raw) == 0 {
			g.Initializers = append(g.Initializers, t)
			continue
		}
		half, err := safetensors.Tensor{Name: t.Name, DType: safetensors.F32, Shape: t.Dims, Data: t.Raw}.To(safetensors.F16)
		if err != nil {
			return nil, fmt.Errorf("float16: %w", err)
		}
		stored := &graph.Tensor{Name: t.Name + ".float16", Type: graph.Float16, Dims: t.Dims, Raw: half.Data}
		g.Initializers = append(g.Initializers, stored)
		g.Nodes = append(g.Nodes, &graph.Node{Name: "weights/" + strings.ReplaceAll(t.Name, "::", "."), Op: "Cast", Inputs: []string{stored.Name}, Outputs: []string{t.Name},
			Attributes: []*graph.Attribute{graph.Int("to", int64(graph.Float32))}})
	}
	g.Nodes = append(g.Nodes, m.Graph.Nodes...)
	return &out, nil
}
