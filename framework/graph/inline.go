package graph

import (
	"fmt"
	"slices"
)

// Inline returns the model with the bodies of those functions that which is true of in the place of their calls, for stacks that do not
// know functions. The model itself, whose tensors the new one shares, stays as it is. The error names a function that cannot be inlined: one
// that holds a graph of its own, or is written for another opset than the model.
func Inline(m *Model, which func(f *Function) bool) (*Model, error) {
	w := &inliner{model: m, taken: map[string]bool{}, functions: map[string]*Function{}}
	out, g := *m, *m.Graph
	out.Graph, out.Functions = &g, nil
	for _, f := range m.Functions {
		if which(f) {
			w.functions[functionKey(f.Domain, f.Name, f.Overload)] = f
		} else {
			out.Functions = append(out.Functions, f)
		}
	}
	if len(w.functions) == 0 {
		return m, nil
	}
	w.reserve(m.Graph)
	if err := w.nodes(m.Graph.Nodes, 0); err != nil {
		return nil, err
	}
	g.Nodes = w.out
	for i, f := range out.Functions { // those that stay may call those that go
		body := &inliner{model: m, taken: map[string]bool{}, functions: w.functions}
		for _, n := range f.Nodes {
			body.take(n.Outputs)
		}
		body.take(f.Inputs)
		if err := body.nodes(f.Nodes, 0); err != nil {
			return nil, err
		}
		kept := *f
		kept.Nodes = body.out
		out.Functions[i] = &kept
	}
	out.Opsets = imports(&out)
	return &out, nil
}

// inliner writes nodes anew.
type inliner struct {
	model     *Model
	functions map[string]*Function // that are inlined
	taken     map[string]bool      // names of values
	out       []*Node
}

func (w *inliner) take(names []string) {
	for _, n := range names {
		w.taken[n] = true
	}
}

// reserve takes the names of a graph's values.
func (w *inliner) reserve(g *Graph) {
	for _, t := range g.Initializers {
		w.taken[t.Name] = true
	}
	for _, v := range g.Inputs {
		w.taken[v.Name] = true
	}
	eachNode(g.Nodes, func(n *Node) { w.take(n.Outputs) })
}

func (w *inliner) nodes(list []*Node, depth int) error {
	for _, n := range list {
		f := w.functions[functionKey(n.Domain, n.Op, n.Overload)]
		if f == nil {
			w.out = append(w.out, n)
			continue
		}
		if depth == maxCalls {
			return fmt.Errorf("function %s calls too many others; expected functions that do not call themselves", functionKey(f.Domain, f.Name, f.Overload))
		}
		if err := w.call(n, f, depth); err != nil {
			return fmt.Errorf("function %s: %w", functionKey(f.Domain, f.Name, f.Overload), err)
		}
	}
	return nil
}

// call writes a function's body in the place of one call.
func (w *inliner) call(call *Node, f *Function, depth int) error {
	if problems := f.problems(call); len(problems) > 0 {
		return problems[0]
	}
	for _, o := range f.Opsets {
		if have := w.model.Opset(o.Domain); o.canonical() == "" && have != o.Version {
			return fmt.Errorf("is written for opset %d, and the model for %d; export the model anew with one of them", o.Version, have)
		}
	}
	rename := map[string]string{"": ""}
	for i, name := range f.Inputs {
		if rename[name] = ""; i < len(call.Inputs) {
			rename[name] = call.Inputs[i]
		}
	}
	for i, name := range f.Outputs {
		if i < len(call.Outputs) && call.Outputs[i] != "" {
			if _, input := rename[name]; input {
				w.out = append(w.out, &Node{Name: call.Outputs[i], Op: "Identity", Inputs: []string{rename[name]}, Outputs: []string{call.Outputs[i]}})
			} else {
				rename[name] = call.Outputs[i]
			}
		}
	}
	var body []*Node
	for _, n := range f.Nodes {
		if slices.ContainsFunc(n.Attributes, func(a *Attribute) bool { return a.G != nil || len(a.Graphs) > 0 }) {
			return fmt.Errorf("holds a graph of its own in %s; export the model without control flow", Key(n))
		}
		made := *resolved(n, call, f)
		made.Name = call.Name + "/" + n.Name
		made.Inputs, made.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		for i, name := range made.Inputs {
			made.Inputs[i] = rename[name]
		}
		for i, name := range made.Outputs {
			if _, known := rename[name]; !known {
				rename[name] = w.fresh(call.Outputs[0] + "/" + name)
			}
			made.Outputs[i] = rename[name]
		}
		body = append(body, &made)
	}
	return w.nodes(body, depth+1)
}

func (w *inliner) fresh(name string) string {
	for w.taken[name] {
		name += "_"
	}
	w.taken[name] = true
	return name
}

// imports are the model's opsets whose operators are called, and ONNX's own.
func imports(m *Model) []Opset {
	used := map[string]bool{"": true}
	note := func(n *Node) { used[Opset{Domain: n.Domain}.canonical()] = true }
	eachNode(m.Graph.Nodes, note)
	for _, f := range m.Functions {
		used[f.Domain] = true
		eachNode(f.Nodes, note)
	}
	return slices.DeleteFunc(slices.Clone(m.Opsets), func(o Opset) bool { return !used[o.canonical()] })
}
