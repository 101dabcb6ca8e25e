package graph

import "slices"

// Keep returns the model with those of its outputs that are named, and the nodes, initializers and inputs that they need. Nodes that are left
// are those of m, in their order. Names that are no outputs are left out.
func Keep(m *Model, outputs ...string) *Model {
	out, g := *m, *m.Graph
	out.Graph = &g
	g.Outputs = slices.DeleteFunc(slices.Clone(g.Outputs), func(v *ValueInfo) bool { return !slices.Contains(outputs, v.Name) })
	live := map[string]bool{}
	for _, v := range g.Outputs {
		live[v.Name] = true
	}
	g.Nodes = nil
	for _, n := range slices.Backward(m.Graph.Nodes) {
		if slices.ContainsFunc(n.Outputs, func(o string) bool { return live[o] }) {
			g.Nodes = append(g.Nodes, n)
			n.reads(func(name string) { live[name] = name != "" })
		}
	}
	slices.Reverse(g.Nodes)
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(t *Tensor) bool { return !live[t.Name] })
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v *ValueInfo) bool { return !live[v.Name] })
	return &out
}

// reads calls visit with the names that a node reads, those of the graphs inside it, too.
func (n *Node) reads(visit func(name string)) {
	for _, in := range n.Inputs {
		visit(in)
	}
	for _, a := range n.Attributes {
		for _, g := range append(slices.Clone(a.Graphs), a.G) {
			if g == nil {
				continue
			}
			for _, inner := range g.Nodes {
				inner.reads(visit)
			}
			for _, v := range g.Outputs {
				visit(v.Name)
			}
		}
	}
}
