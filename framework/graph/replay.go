package graph

import (
	"fmt"
	"maps"
)

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
	if m.Graph == nil {
		b.fail("the model to replay has no graph; expected a whole model")
		return out
	}
	for _, t := range m.Graph.Initializers {
		initial[t.Name] = t
	}
	for _, o := range m.Opsets {
		if o.Domain != "" && o.Domain != "ai.onnx" {
			b.opsets[o.Domain] = max(b.opsets[o.Domain], o.Version)
		}
	}
	for _, f := range m.Functions {
		b.functions[functionKey(f.Domain, f.Name, f.Overload)] = f
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
		return b.Fail("model %s: the value %q is neither an input that was given nor written by a node before; bind it", m.Graph.Name, name)
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
			written = b.again(m, n, in)
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
	c := *t
	if _, taken := b.values[c.Name]; taken || c.Name == "" {
		c.Name = b.fresh(c.Name + "_copy")
	}
	return b.Initializer(&c)
}

// again writes a node of another graph.
func (b *Builder) again(m *Model, n *Node, in []Value) []Value {
	origin := fmt.Sprintf("node %q of model %s: ", n.Name, m.Graph.Name)
	if n.Op == "Constant" && n.Domain == "" {
		t, err := ConstantTensor(n)
		if err != nil {
			return []Value{b.Fail("%s%v", origin, err)}
		}
		return []Value{b.Constant(t.withRaw())}
	}
	for _, a := range n.Attributes {
		if a.G != nil || len(a.Graphs) > 0 {
			return []Value{b.Fail("%soperator %s holds a graph of its own; expected a graph without control flow, export the model without it", origin, Key(n))}
		}
	}
	made := &Node{Op: n.Op, Domain: n.Domain, Overload: n.Overload, Attributes: n.Attributes, Unknown: n.Unknown}
	if made.Domain == "ai.onnx" {
		made.Domain = ""
	}
	out := b.write(origin, made, len(n.Outputs), in)
	if b.err == nil { // outputs left out stay left out
		for i, name := range n.Outputs {
			if name == "" {
				delete(b.values, made.Outputs[i])
				delete(b.producer, made.Outputs[i])
				made.Outputs[i], out[i] = "", Value{}
			}
		}
	}
	return out
}
