package foreign

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// unshare tells merged initialisers apart. Exporters keep equal tensors once, so that the ones of all norms and the zeros of all
// biases of a new model are one tensor. A tensor whose elements are all equal is therefore split: into the names that
// Identity nodes kept (torch.jit), else into one tensor for each module that reads it. What a module reads several times stays
// one tensor, and so does everything with a content of its own: that is a network that shares layers (ALBERT).
func (r *reader) unshare(all []*candidate) []*candidate {
	var out []*candidate
	gone := map[string]bool{}
	for _, c := range all {
		groups := c.groups()
		if c.fixed != "" || !c.values.uniform() || len(groups) < 2 {
			out = append(out, c)
			continue
		}
		old := c.places[0].tensor
		for edge, from := range r.root {
			if from == old.Name {
				gone[edge] = true
				delete(r.edges, edge)
			}
		}
		gone[old.Name] = true
		delete(r.edges, old.Name)
		split := Unshared{Tensor: old.Name}
		for _, g := range groups {
			t := *old
			t.Name = unique(g.name, r.edges)
			d := &candidate{values: c.values, places: []place{{tensor: &t}}, uses: g.uses}
			for _, u := range g.uses {
				u.node.Inputs[u.at] = t.Name
			}
			r.tensors[t.Name] = &t
			r.model.Graph.Initializers = append(r.model.Graph.Initializers, &t)
			split.Parts = append(split.Parts, t.Name)
			if r.live(d) {
				out = append(out, d)
			}
		}
		r.report.Unshared = append(r.report.Unshared, split)
	}
	r.drop(gone)
	r.order(out)
	return out
}

// group is a set of uses that belong to one parameter.
type group struct {
	key, name string
	uses      []use
}

func (c *candidate) groups() []*group {
	t := c.places[0].tensor
	own := t.Name
	named := slices.ContainsFunc(c.uses, func(u use) bool { return u.edge != own && readable(u.edge) })
	var out []*group
	for _, u := range c.uses {
		name := derived(u, t)
		g := &group{key: "node " + u.node.Outputs[0], name: own}
		module, known := scope(u.node)
		switch {
		case readable(u.edge) && (u.edge != own || named):
			g.key, g.name = "tensor "+u.edge, u.edge
		case name == own, again.ReplaceAllString(name, "$1") == own:
			g.key = "tensor " + own
		case known && module != "":
			g.key, g.name = "module "+name, name
		}
		i := slices.IndexFunc(out, func(o *group) bool { return o.key == g.key })
		if i < 0 {
			out = append(out, g)
			i = len(out) - 1
		}
		out[i].uses = append(out[i].uses, u)
	}
	return out
}

// live tells whether the logits need a candidate: the rest of the file may read its initialiser, too.
func (r *reader) live(c *candidate) bool {
	return slices.ContainsFunc(c.uses, func(u use) bool {
		return slices.Contains(r.forward, u.node) && r.reached[u.edge] && r.passes(u.node, u.at)
	})
}

// drop takes out the tensors that were split, and the Identity nodes and descriptions of edges that are gone with them. New
// tensors may have taken their names.
func (r *reader) drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	g := r.model.Graph
	g.Initializers = slices.DeleteFunc(g.Initializers, func(t *graph.Tensor) bool {
		return gone[t.Name] && (r.tensors[t.Name] != t || !r.edges[t.Name])
	})
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n *graph.Node) bool {
		return n.Op == "Identity" && gone[n.Outputs[0]]
	})
	typed := func(v *graph.ValueInfo) bool { return gone[v.Name] }
	g.Values = slices.DeleteFunc(slices.Clone(g.Values), typed)
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), typed)
}

// order sorts candidates by their first use.
func (r *reader) order(all []*candidate) {
	at := map[*graph.Node]int{}
	for i, n := range r.model.Graph.Nodes {
		at[n] = i
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		u, v := a.uses[0], b.uses[0]
		if u.node != v.node {
			return at[u.node] - at[v.node]
		}
		return u.at - v.at
	})
}
