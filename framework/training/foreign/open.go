package foreign

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// open takes a copy of the file's structure, which may be changed: nodes are copied, payloads are not.
func (r *reader) open(m *graph.Model) error {
	switch opset := m.Opset(""); {
	case m.Graph == nil:
		return fmt.Errorf("the file holds no graph; it is no ONNX model, or it is damaged")
	case opset < graph.MinOpset || opset > graph.MaxOpset:
		return fmt.Errorf("its opset is %d; expected %d to %d, export it anew or convert it with onnx.version_converter", opset, graph.MinOpset, graph.MaxOpset)
	case len(m.Functions) > 0:
		return fmt.Errorf("it has functions of its own, such as %s.%s; expected plain operators, inline them with onnx.inliner.inline_local_functions", m.Functions[0].Domain, m.Functions[0].Name)
	}
	model, g := *m, *m.Graph
	model.Graph = &g
	g.Nodes = make([]*graph.Node, 0, len(m.Graph.Nodes))
	g.Initializers = slices.Clone(g.Initializers)
	if err := r.load(&g); err != nil {
		return err
	}
	r.tensors, r.edges = map[string]*graph.Tensor{}, map[string]bool{}
	narrow := narrowTensors(&g)
	for _, n := range m.Graph.Nodes {
		if len(n.Outputs) == 0 {
			return fail(n, "it has no output; the file is damaged, export the model anew")
		}
		t, err := hoisted(n)
		if t == nil && err == nil {
			t, err = widened(n, narrow)
		}
		if err != nil {
			return err
		}
		if t != nil {
			g.Initializers = append(g.Initializers, t)
			continue
		}
		c := *n
		c.Inputs = slices.Clone(n.Inputs)
		g.Nodes = append(g.Nodes, &c)
		for _, name := range n.Outputs {
			r.edges[name] = true
		}
	}
	g.Initializers = slices.DeleteFunc(g.Initializers, func(t *graph.Tensor) bool {
		return narrow[t.Name] != nil && !slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return slices.Contains(n.Inputs, t.Name) })
	})
	for _, t := range g.Initializers {
		r.tensors[t.Name], r.edges[t.Name] = t, true
	}
	for _, v := range g.Inputs {
		r.edges[v.Name] = true
	}
	r.model = &model
	return nil
}

// hoisted is the tensor of a Constant node that may be a parameter: some exporters keep weights there.
func hoisted(n *graph.Node) (*graph.Tensor, error) {
	if n.Op != "Constant" || n.Domain != "" || len(n.Outputs) != 1 {
		return nil, nil
	}
	a := n.Attribute("value")
	if a == nil || a.T == nil || !float(a.T.Type) || elements(a.T) < 2 {
		return nil, nil
	}
	if a.T.IsExternal() {
		return nil, fmt.Errorf("node %s (Constant): its data is in another file; expected initialisers there alone, save the model anew with onnx.save", n.Name)
	}
	t := *a.T
	t.Name = n.Outputs[0]
	return &t, nil
}

func float(t graph.Type) bool {
	return t == graph.Float32 || t == graph.Float16 || t == graph.BFloat16 || t == graph.Float64
}

// elements is the number of elements, 0 for damaged dimensions.
func elements(t *graph.Tensor) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > 1<<40/d {
			return 0
		}
		n *= d
	}
	return n
}

// prune finds the nodes that the logits need.
func (r *reader) prune() {
	live := map[string]bool{r.ports.logits: true}
	r.forward = nil
	for _, n := range slices.Backward(r.model.Graph.Nodes) {
		if slices.ContainsFunc(n.Outputs, func(o string) bool { return live[o] }) {
			r.forward = append(r.forward, n)
			for _, in := range n.Inputs {
				live[in] = in != ""
			}
		}
	}
	slices.Reverse(r.forward)
}

// subgraph is the model of those nodes.
func (r *reader) subgraph() *graph.Model {
	m, g := *r.model, *r.model.Graph
	m.Graph = &g
	g.Nodes = r.forward
	live := map[string]bool{}
	for _, n := range r.forward {
		for _, in := range n.Inputs {
			live[in] = true
		}
	}
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(t *graph.Tensor) bool { return !live[t.Name] })
	g.Outputs = slices.DeleteFunc(slices.Clone(g.Outputs), func(v *graph.ValueInfo) bool { return v.Name != r.ports.logits })
	return &m
}
