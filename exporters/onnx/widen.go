package onnx

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// halves are the element types that weights are stored in and cast from.
var halves = map[graph.Type]safetensors.DType{graph.Float16: safetensors.F16, graph.BFloat16: safetensors.BF16}

// widen returns the model with those weights as float32 that it stores in half precision and casts: every number stays what it is, and
// precisions begin at the same form.
func widen(m *graph.Model) (*graph.Model, error) {
	stored := map[string]*graph.Tensor{}
	for _, t := range m.Graph.Initializers {
		if halves[t.Type] != "" && t.Raw != nil {
			stored[t.Name] = t
		}
	}
	out, g := *m, *m.Graph
	out.Graph, g.Nodes, g.Initializers = &g, nil, nil
	casts, read := map[string]string{}, map[string]bool{} // stored tensor -> its cast; what others read
	for _, n := range m.Graph.Nodes {
		if n.Op == "Cast" && n.Domain == "" && stored[n.Inputs[0]] != nil && casts[n.Inputs[0]] == "" && n.IntAttr("to", 0) == int64(graph.Float32) {
			casts[n.Inputs[0]] = n.Outputs[0]
			continue
		}
		if slices.ContainsFunc(n.Attributes, func(a *graph.Attribute) bool { return a.G != nil || len(a.Graphs) > 0 }) {
			return m, nil // a graph inside may read anything by its name
		}
		for _, name := range n.Inputs {
			read[name] = true
		}
		g.Nodes = append(g.Nodes, n)
	}
	rename := map[string]string{} // casts whose readers take the parameter's own name
	for _, t := range m.Graph.Initializers {
		cast := casts[t.Name]
		if cast == "" || read[t.Name] {
			g.Initializers = append(g.Initializers, t)
		}
		if cast == "" {
			continue
		}
		wide, err := safetensors.Tensor{Name: t.Name, DType: halves[t.Type], Shape: t.Dims, Data: t.Raw}.Float32s()
		if err != nil {
			return nil, err
		}
		name := cast
		if !read[t.Name] && !strings.HasSuffix(t.Name, ".float16") { // which is how [model.Half] names what it stores
			name, rename[cast] = t.Name, t.Name
		}
		g.Initializers = append(g.Initializers, graph.OfFloats(name, t.Dims, wide))
	}
	for i, n := range g.Nodes {
		if slices.ContainsFunc(n.Inputs, func(in string) bool { return rename[in] != "" }) {
			renamed := *n
			renamed.Inputs = slices.Clone(n.Inputs)
			for k, in := range renamed.Inputs {
				renamed.Inputs[k] = cmp.Or(rename[in], in)
			}
			g.Nodes[i] = &renamed
		}
	}
	return &out, nil
}
