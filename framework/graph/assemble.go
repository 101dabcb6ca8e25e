package graph

import (
	"fmt"
	"maps"
	"slices"
)

// Output is a value that the model gives under a name.
type Output struct {
	Name  string
	Value Value
}

// Model finishes the graph: only what the outputs need stays. The builder can be used further, and other models be made of it.
func (b *Builder) Model(outputs ...Output) (*Model, error) {
	if b.err != nil {
		return nil, b.err
	}
	g := &Graph{Name: b.name}
	taken := map[string]bool{}
	for _, o := range outputs {
		if !o.Value.Given() || b.values[o.Value.name] != o.Value.info {
			b.fail("output %q: no value of this graph; expected the result of an operator", o.Name)
			return nil, b.err
		}
		if other := b.values[o.Name]; o.Name == "" || taken[o.Name] || other != nil && other != o.Value.info {
			b.fail("output %q: the name is empty or taken; expected another", o.Name)
			return nil, b.err
		}
		taken[o.Name] = true
		g.Outputs = append(g.Outputs, &ValueInfo{Name: o.Name, Type: o.Value.Type(), HasRank: o.Value.HasRank(), Shape: public(o.Value.Shape())})
	}
	rename, copies := b.outputNames(outputs)
	live := map[string]bool{}
	for name := range rename {
		live[name] = true
	}
	for _, o := range outputs {
		live[o.Value.name] = true
	}
	domains := map[string]bool{}
	for _, n := range slices.Backward(b.nodes) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return live[o] }) {
			continue
		}
		for _, in := range n.Inputs {
			live[in] = true
		}
		g.Nodes = append(g.Nodes, renamed(n, rename))
		domains[n.Domain] = true
	}
	slices.Reverse(g.Nodes)
	for _, n := range copies {
		g.Nodes = append(g.Nodes, renamed(n, rename))
	}
	for _, t := range b.inits {
		if live[t.Name] {
			g.Initializers = append(g.Initializers, t)
		}
	}
	for _, v := range b.inputs {
		g.Inputs = append(g.Inputs, &ValueInfo{Name: v.name, Type: v.Type(), HasRank: v.HasRank(), Shape: public(v.Shape())})
	}
	m := &Model{IRVersion: irVersion(b.opset), Producer: "mdmhost", Graph: g, Opsets: []Opset{{"", b.opset}}}
	if err := b.addFunctions(m); err != nil {
		return nil, err
	}
	for _, f := range m.Functions {
		for _, n := range f.Nodes {
			domains[n.Domain] = true
		}
	}
	delete(domains, "")
	for _, d := range slices.Sorted(maps.Keys(domains)) {
		m.Opsets = append(m.Opsets, Opset{d, max(1, b.opsets[d])})
	}
	if err := Check(m); err != nil {
		return nil, fmt.Errorf("%w; this is a mistake of the builder, report it", err)
	}
	return m, nil
}

// outputNames says how edges must be renamed to become outputs, and which copies are needed: for outputs that are inputs or
// constants under another name, or asked for twice.
func (b *Builder) outputNames(outputs []Output) (rename map[string]string, copies []*Node) {
	rename = map[string]string{}
	for _, o := range outputs {
		if o.Name == o.Value.name {
			rename[o.Name] = o.Name
		}
	}
	for _, o := range outputs {
		edge := o.Value.name
		_, twice := rename[edge]
		switch {
		case o.Name == edge:
		case twice || b.producer[edge] == nil:
			copies = append(copies, &Node{Name: "output/" + o.Name, Op: "Identity", Inputs: []string{edge}, Outputs: []string{o.Name}})
		default:
			rename[edge] = o.Name
		}
	}
	return rename, copies
}

// irVersion is the file version that the runtime expects with an opset.
func irVersion(opset int64) int64 {
	if opset >= 23 {
		return 11
	}
	return 10
}

// public removes the names that inference made up.
func public(shape []Dim) []Dim {
	out := slices.Clone(shape)
	for i, d := range out {
		if d.vague() {
			out[i] = unknown
		}
	}
	return out
}

func renamed(n *Node, rename map[string]string) *Node {
	out := *n
	out.Inputs, out.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	for _, list := range [][]string{out.Inputs, out.Outputs} {
		for i, name := range list {
			if to, ok := rename[name]; ok {
				list[i] = to
			}
		}
	}
	return &out
}
