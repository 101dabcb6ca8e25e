package precision

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// rewriter writes the nodes of a model anew, with tensors and values beside those that are there.
type rewriter struct {
	source       *graph.Model
	sources      sources
	taken        map[string]bool // names of values, tensors and nodes
	nodes        []*graph.Node
	initializers []*graph.Tensor
}

func newRewriter(m *graph.Model) *rewriter {
	r := &rewriter{source: m, sources: newSources(m.Graph), taken: map[string]bool{}, initializers: slices.Clone(m.Graph.Initializers)}
	for _, t := range m.Graph.Initializers {
		r.taken[t.Name] = true
	}
	for _, v := range slices.Concat(m.Graph.Inputs, m.Graph.Values) {
		r.taken[v.Name] = true
	}
	for _, n := range m.Graph.Nodes {
		r.taken[n.Name] = true
		for _, name := range slices.Concat(n.Inputs, n.Outputs) {
			r.taken[name] = true
		}
	}
	return r
}

// fresh is a name that nothing has, name itself where it is free.
func (r *rewriter) fresh(name string) string {
	out := name
	for i := 2; r.taken[out]; i++ {
		out = fmt.Sprintf("%s.%d", name, i)
	}
	r.taken[out] = true
	return out
}

// add writes a node with one new value, whose name it returns.
func (r *rewriter) add(op, name string, attributes []*graph.Attribute, in ...string) string {
	out := r.fresh(name)
	r.write(op, out, attributes, in...)
	return out
}

// write writes a node whose result takes the place of the value out.
func (r *rewriter) write(op, out string, attributes []*graph.Attribute, in ...string) {
	r.nodes = append(r.nodes, &graph.Node{Name: r.fresh("node/" + out), Op: op, Inputs: in, Outputs: []string{out}, Attributes: attributes})
}

// model is the model with the new nodes, without those and without tensors that nothing reads any more.
func (r *rewriter) model() *graph.Model {
	out, g := *r.source, *r.source.Graph
	out.Graph = &g
	live := map[string]bool{}
	for _, o := range g.Outputs {
		live[o.Name] = true
	}
	g.Nodes = nil
	for _, n := range slices.Backward(r.nodes) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return live[o] }) {
			continue
		}
		for name := range reads(n) {
			live[name] = true
		}
		g.Nodes = append(g.Nodes, n)
	}
	slices.Reverse(g.Nodes)
	g.Initializers = slices.DeleteFunc(slices.Clone(r.initializers), func(t *graph.Tensor) bool { return !live[t.Name] })
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v *graph.ValueInfo) bool { // defaults of weights that are gone
		return !live[v.Name] && r.defaults(v.Name)
	})
	written := map[string]bool{}
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			written[o] = true
		}
	}
	g.Values = slices.DeleteFunc(slices.Clone(g.Values), func(v *graph.ValueInfo) bool { return !written[v.Name] })
	return &out
}

func (r *rewriter) defaults(input string) bool {
	return slices.ContainsFunc(r.initializers, func(t *graph.Tensor) bool { return t.Name == input })
}

// reads are the values that a node reads, those of graphs inside it included.
func reads(n *graph.Node) map[string]bool {
	out := map[string]bool{}
	var visit func(n *graph.Node)
	inside := func(g *graph.Graph) {
		for _, n := range g.Nodes {
			visit(n)
		}
		for _, o := range g.Outputs {
			out[o.Name] = true
		}
	}
	visit = func(n *graph.Node) {
		for _, in := range n.Inputs {
			out[in] = true
		}
		for _, a := range n.Attributes {
			if a.G != nil {
				inside(a.G)
			}
			for _, g := range a.Graphs {
				inside(g)
			}
		}
	}
	visit(n)
	delete(out, "")
	return out
}
