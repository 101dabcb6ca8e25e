package precision

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// tables returns the model with the float32 matrices that only Gather reads (embeddings) stored as float16, and a Cast behind each Gather, so that
// they are small in memory, too. Where a number is beyond float16 the table stays as it is: its rows are exact then.
func tables(m *graph.Model) *graph.Model {
	r := newRewriter(m)
	other := map[string]bool{} // read by something else
	for _, n := range m.Graph.Nodes {
		for name := range reads(n) {
			if n.Op != "Gather" || n.Domain != "" || name != n.Inputs[0] {
				other[name] = true
			}
		}
	}
	for _, o := range m.Graph.Outputs {
		other[o.Name] = true
	}
	stored := map[string]string{}
	for _, t := range m.Graph.Initializers {
		if r.sources.initial[t.Name] == nil || other[t.Name] || t.Type != graph.Float32 || len(t.Dims) != 2 || len(t.Raw) == 0 {
			continue
		}
		half, err := safetensors.Tensor{Name: t.Name, DType: safetensors.F32, Shape: t.Dims, Data: t.Raw}.To(safetensors.F16)
		if err != nil {
			continue
		}
		stored[t.Name] = r.fresh(t.Name + ".float16")
		r.initializers = append(r.initializers, &graph.Tensor{Name: stored[t.Name], Type: graph.Float16, Dims: t.Dims, Raw: half.Data})
	}
	for _, n := range m.Graph.Nodes {
		if n.Op != "Gather" || stored[n.Inputs[0]] == "" {
			r.nodes = append(r.nodes, n)
			continue
		}
		g := *n
		y := n.Outputs[0]
		g.Inputs, g.Outputs = []string{stored[n.Inputs[0]], n.Inputs[1]}, []string{r.fresh(y + "/float16")}
		r.nodes = append(r.nodes, &g)
		r.write("Cast", y, []*graph.Attribute{graph.Int("to", int64(graph.Float32))}, g.Outputs[0])
	}
	return r.model()
}
