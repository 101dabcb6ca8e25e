package graph

import (
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
	rename := map[string]string{} // edge -> name of the output
	var copies []*Node            // for outputs that are inputs, constants, or asked for twice
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
		_, twice := rename[o.Value.name]
		switch {
		case o.Name == o.Value.name && b.producer[o.Name] != nil:
			rename[o.Name] = o.Name
		case b.producer[o.Value.name] == nil || twice:
			copies = append(copies, &Node{Name: "output/" + o.Name, Op: "Identity", Inputs: []string{o.Value.name}, Outputs: []string{o.Name}})
		default:
			rename[o.Value.name] = o.Name
		}
	}
	live := map[string]bool{}
	for name := range rename {
		live[name] = true
	}
	for _, n := range copies {
		live[n.Inputs[0]] = true
	}
	domains := map[string]bool{}
	used := map[string]bool{}
	for _, n := range slices.Backward(b.nodes) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return live[o] }) {
			continue
		}
		for _, in := range n.Inputs {
			live[in] = true
		}
		g.Nodes = append(g.Nodes, renamed(n, rename))
		domains[n.Domain] = true
		if f := Key(n); n.Domain != "" {
			used[f] = true
		}
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
	if err := b.addFunctions(m, used); err != nil {
		return nil, err
	}
	for _, f := range m.Functions {
		domains[f.Domain] = true
	}
	delete(domains, "")
	for _, d := range slices.Sorted(maps.Keys(domains)) {
		m.Opsets = append(m.Opsets, Opset{d, max(1, b.opsets[d])})
	}
	return m, nil
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
			out[i] = Dim{Size: -1}
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

// Replay writes the nodes of a finished graph once more, inside this one: bind gives the values behind the graph's inputs and
// behind those initializers that are to be replaced, such as parameters; the other initializers are copied. expand, if
// given, may write something else in a node's place: it returns nil to leave the node as it is. Replay returns the
// values behind the graph's outputs, by name.
func (b *Builder) Replay(m *Model, bind map[string]Value, expand func(n *Node, in []Value) []Value) map[string]Value {
	out := map[string]Value{}
	if b.err != nil {
		return out
	}
	at := maps.Clone(bind)
	if at == nil {
		at = map[string]Value{}
	}
	initial := map[string]*Tensor{}
	for _, t := range m.Graph.Initializers {
		initial[t.Name] = t
	}
	for _, o := range m.Opsets {
		if o.Domain != "" && o.Domain != "ai.onnx" {
			b.opsets[o.Domain] = max(b.opsets[o.Domain], o.Version)
		}
	}
	for _, f := range m.Functions {
		if _, ours := functions[f.Domain+"."+f.Name]; !ours {
			b.functions[f.Domain+"."+f.Name] = f
		}
	}
	find := func(name string) Value {
		if name == "" {
			return Value{}
		}
		if v, ok := at[name]; ok {
			return v
		}
		if t, ok := initial[name]; ok {
			at[name] = b.copied(t)
			return at[name]
		}
		return b.Fail("graph %s: the value %q is neither an input that was given nor written by a node before", m.Graph.Name, name)
	}
	for _, n := range m.Graph.Nodes {
		in := make([]Value, len(n.Inputs))
		for i, name := range n.Inputs {
			in[i] = find(name)
		}
		if b.err != nil {
			return out
		}
		var written []Value
		if expand != nil {
			written = expand(n, in)
		}
		if written == nil && b.err == nil {
			written = b.again(n, in)
		}
		if b.err != nil {
			return out
		}
		for i, name := range n.Outputs {
			if name != "" && i < len(written) {
				at[name] = b.folded(written[i])
			}
		}
	}
	for _, o := range m.Graph.Outputs {
		out[o.Name] = find(o.Name)
	}
	return out
}

// folded is a constant in the place of a computed shape, where the dimensions that it is computed from are numbers here. What
// needed more than shape arithmetic stays; what nobody reads any more is pruned.
func (b *Builder) folded(v Value) Value {
	ints, ok := v.Ints()
	if !ok || v.Content() != nil || v.Type() != Int64 || v.Rank() > 1 {
		return v
	}
	raw := make([]int64, len(ints))
	for i, d := range ints {
		if raw[i], ok = d.literal(); !ok {
			return v
		}
	}
	if v.Rank() == 0 {
		return b.Int(raw[0])
	}
	return b.Ints(raw...)
}

// copied adds a tensor of another graph, keeping its name where it is free.
func (b *Builder) copied(t *Tensor) Value {
	if len(t.Raw) > 0 && len(t.Raw) <= 4096 && !t.IsExternal() {
		return b.Constant(t)
	}
	c := *t
	if _, taken := b.values[c.Name]; taken || c.Name == "" {
		c.Name = b.fresh(c.Name + "_copy")
	}
	return b.Initializer(&c)
}

// again writes a node of another graph.
func (b *Builder) again(n *Node, in []Value) []Value {
	if n.Op == "Constant" && n.Domain == "" {
		t, err := ConstantTensor(n)
		if err != nil {
			return []Value{b.Fail("%v", err)}
		}
		return []Value{b.Constant(t.withRaw())}
	}
	for _, a := range n.Attributes {
		if a.G != nil || len(a.Graphs) > 0 {
			return []Value{b.Fail("node %s: operator %s holds a graph of its own; expected a graph without control flow, export the model without it", n.Name, Key(n))}
		}
	}
	out := b.OpN(Key(n), len(n.Outputs), n.Attributes, in...)
	if b.err == nil { // outputs left out stay left out
		made := b.nodes[len(b.nodes)-1]
		for i, name := range n.Outputs {
			if name == "" {
				delete(b.values, made.Outputs[i])
				made.Outputs[i], out[i] = "", Value{}
			}
		}
	}
	return out
}
