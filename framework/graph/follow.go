package graph

// WithShapes returns the model with types and shapes of all values that inference knows, in the place of those that the file gives. Sizes stay
// as they are named, such as "B" or "L + 1"; those without a name are left open.
func WithShapes(m *Model) *Model {
	b := follow(m)
	out, g := *m, *m.Graph
	out.Graph, g.Values = &g, nil
	given := map[string]bool{}
	for _, v := range g.Outputs {
		given[v.Name] = true
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			if v, ok := b.Value(name); ok && name != "" && !given[name] && v.HasRank() && v.Type() != Undefined {
				g.Values = append(g.Values, &ValueInfo{Name: name, Type: v.Type(), HasRank: true, Shape: public(v.Shape())})
			}
		}
	}
	return &out
}

// follow infers what it can of the values of a finished model, under their own names. Where inference does not know an
// operator, the types that the file gives stand in.
func follow(m *Model) *Builder {
	g := m.Graph
	b := NewBuilder(g.Name, min(max(m.Opset(""), MinOpset), MaxOpset))
	b.opset = m.Opset("") // an older or newer one is followed, too
	for _, f := range m.Functions {
		b.functions[functionKey(f.Domain, f.Name, f.Overload)] = f
	}
	declared := map[string]*ValueInfo{}
	for _, list := range [][]*ValueInfo{g.Values, g.Outputs} {
		for _, v := range list {
			declared[v.Name] = v
		}
	}
	for _, v := range g.Inputs {
		b.put(v.Name, v.info())
	}
	for _, t := range g.Initializers {
		in, err := constantInfo(t)
		if err != nil {
			in = info{typ: t.Type}
		}
		b.put(t.Name, in)
	}
	for _, n := range g.Nodes {
		infos, err := b.infer(n)
		for i, name := range n.Outputs {
			in := info{}
			if v := declared[name]; v != nil {
				in = v.info()
			}
			if err == nil && (infos[i].ranked || in.typ == Undefined) {
				in = infos[i]
			}
			b.put(name, in)
		}
	}
	return b
}

func (v *ValueInfo) info() info {
	return info{typ: v.Type, shape: v.Shape, ranked: v.HasRank}
}
