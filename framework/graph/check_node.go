package graph

import (
	"fmt"
	"slices"
)

// nodes checks a list of nodes in the order in which they run.
func (c *checker) nodes(list []*Node, s *scope) {
	s.later = map[string]*Node{}
	for _, n := range list {
		for _, name := range n.Outputs {
			if _, known := s.later[name]; !known {
				s.later[name] = n
			}
		}
	}
	for i, n := range list {
		who := fmt.Sprintf("%snode %q", s.problem, n.Name)
		if n.Name == "" {
			who = fmt.Sprintf("%snode %d (%s)", s.problem, i, n.Op)
		}
		for _, name := range n.Inputs {
			if name == "" || s.sees(name) {
				continue
			}
			if by := s.later[name]; by != nil {
				c.bad("%s: reads %q, which node %q writes later; sort the nodes", who, name, by.Name)
			} else {
				c.bad("%s: reads %q, which nothing writes; expected an input, an initializer or the output of a node before", who, name)
			}
		}
		c.operator(n, s, who)
		for _, a := range n.Attributes {
			for _, g := range append(a.Graphs[:len(a.Graphs):len(a.Graphs)], a.G) {
				if g != nil {
					c.graph(g, &scope{outer: s, names: map[string]bool{}, opsets: s.opsets, in: s.in, problem: who + ": "})
				}
			}
		}
		for _, name := range n.Outputs {
			c.write(s, name, fmt.Sprintf("node %q", n.Name))
		}
	}
}

// operator holds the call against the operator's signature.
func (c *checker) operator(n *Node, s *scope, who string) {
	for _, a := range n.Attributes {
		if a.Ref != "" && (s.in == nil || !s.in.has(a.Ref)) {
			c.bad("%s: attribute %s refers to %q, which is no attribute of a function around it; give a value", who, a.Name, a.Ref)
		}
	}
	opset := int64(0)
	for _, o := range s.opsets {
		if o.canonical() == (Opset{Domain: n.Domain}).canonical() {
			opset = o.Version
		}
	}
	if opset == 0 {
		c.bad("%s: the opset of domain %q is not imported; add it to opset_import", who, n.Domain)
		return
	}
	if f := c.functions[functionKey(n.Domain, n.Op, n.Overload)]; f != nil {
		for _, p := range f.problems(n) {
			c.bad("%s: %w", who, p)
		}
		return
	}
	switch sig, known, err := signatureOf(n, opset); {
	case err != nil:
		c.bad("%s: %w", who, err)
	case known:
		for _, p := range sig.problems(n, true) {
			c.bad("%s: %w", who, p)
		}
	case n.Domain == "" || n.Domain == "ai.onnx" || n.Domain == Domain && operators[Key(n)] == nil:
		c.bad("%s: operator %s is unknown%s", who, Key(n), nearest(Key(n)))
	}
}

// problems lists what is wrong with the call of a function. Inputs and outputs at the end may be left out.
func (f *Function) problems(n *Node) []error {
	s := &signature{maxIn: len(f.Inputs), maxOut: len(f.Outputs), kinds: map[string]Kind{}}
	for _, name := range f.Attributes {
		s.kinds[name] = 0
	}
	for _, a := range f.Defaults {
		s.kinds[a.Name] = a.Kind
	}
	return s.problems(n, true)
}

// has tells whether a function has an attribute.
func (f *Function) has(name string) bool {
	return slices.Contains(f.Attributes, name) || slices.ContainsFunc(f.Defaults, func(a *Attribute) bool { return a.Name == name })
}
