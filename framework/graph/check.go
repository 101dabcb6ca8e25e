package graph

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Check holds a model against the rules of ONNX and lists everything that is wrong, each problem with the node's name: names
// written once and before they are read, outputs that exist, operators called as their version of the opset takes them, opsets
// imported, functions that do not call themselves, initializers as long as their shape says, external data inside the
// model's folder. Types and shapes between nodes are not followed; [Builder.Replay] does that.
func Check(m *Model) error {
	c := &checker{model: m, functions: map[string]*Function{}}
	c.opsets(m.Opsets, "the model")
	if m.IRVersion < 3 || m.IRVersion < 8 && len(m.Functions) > 0 {
		c.bad("IR version %d; expected 3 or higher, 8 or higher with functions", m.IRVersion)
	}
	for _, f := range m.Functions {
		key := functionKey(f.Domain, f.Name, f.Overload)
		if c.functions[key] != nil {
			c.bad("function %s: there are two; leave one out", key)
		}
		c.functions[key] = f
	}
	if m.Graph == nil {
		c.bad("there is no graph; expected a whole model")
	} else {
		c.graph(m.Graph, &scope{opsets: m.Opsets, names: map[string]bool{}})
	}
	for _, f := range m.Functions {
		c.function(f)
	}
	c.cycles()
	m.Tensors(c.tensor)
	if len(c.problems) == 0 {
		return nil
	}
	name := ""
	if m.Graph != nil {
		name = " " + m.Graph.Name
	}
	list := c.problems
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems:maxProblems], fmt.Errorf("and %d more", more))
	}
	if len(list) == 1 {
		return fmt.Errorf("model%s: %w", name, list[0])
	}
	return fmt.Errorf("model%s: %d problems:\n%w", name, len(c.problems), errors.Join(list...))
}

// maxProblems bounds the list of [Check].
const maxProblems = 50

type checker struct {
	model     *Model
	functions map[string]*Function
	problems  []error
	depth     int
}

// scope is what the nodes of one graph or one function's body can see.
type scope struct {
	outer   *scope
	names   map[string]bool // written so far
	later   map[string]*Node
	opsets  []Opset
	in      *Function
	problem string // prefix of messages
}

func (s *scope) sees(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// opsets holds a list of imports against double entries.
func (c *checker) opsets(list []Opset, who string) {
	seen := map[string]int64{}
	for _, o := range list {
		if v, twice := seen[o.canonical()]; twice && v != o.Version {
			c.bad("%s imports the opset of domain %q as %d and as %d; leave one out", who, o.Domain, v, o.Version)
		}
		seen[o.canonical()] = o.Version
	}
}

func (o Opset) canonical() string {
	if o.Domain == "ai.onnx" {
		return ""
	}
	return o.Domain
}

func (c *checker) graph(g *Graph, s *scope) {
	if c.depth++; c.depth > maxDepth {
		c.bad("%sgraphs are nested deeper than %d", s.problem, maxDepth)
		return
	}
	defer func() { c.depth-- }()
	inputs := map[string]bool{}
	for _, v := range g.Inputs {
		c.write(s, v.Name, "input")
		inputs[v.Name] = true
	}
	initializers := map[string]bool{}
	for _, t := range g.Initializers {
		if !inputs[t.Name] || initializers[t.Name] { // an initializer may be an input's default
			c.write(s, t.Name, "initializer")
		}
		initializers[t.Name] = true
	}
	c.nodes(g.Nodes, s)
	seen := map[string]bool{}
	for _, v := range g.Outputs {
		switch {
		case seen[v.Name]:
			c.bad("%soutput %q is listed twice; leave one out", s.problem, v.Name)
		case !s.sees(v.Name):
			c.bad("%soutput %q is written by no node; expected the name of a value", s.problem, v.Name)
		}
		seen[v.Name] = true
	}
}

// write notes that a value is written.
func (c *checker) write(s *scope, name, by string) {
	switch {
	case name == "" && strings.HasPrefix(by, "node "): // an output left out
		return
	case name == "":
		c.bad("%s%s without a name; expected one", s.problem, by)
	case s.sees(name):
		c.bad("%s%s: the name %q is taken; expected names that are written once", s.problem, by, name)
	}
	s.names[name] = true
}

func (c *checker) function(f *Function) {
	who := "function " + functionKey(f.Domain, f.Name, f.Overload)
	c.opsets(f.Opsets, who)
	s := &scope{opsets: f.Opsets, in: f, names: map[string]bool{}, problem: who + ": "}
	for _, name := range f.Inputs {
		c.write(s, name, "input")
	}
	for _, a := range f.Defaults {
		if slices.Contains(f.Attributes, a.Name) {
			c.bad("%s: attribute %s is listed with a default and without; leave one out", who, a.Name)
		}
	}
	c.nodes(f.Nodes, s)
	for _, name := range f.Outputs {
		if !s.sees(name) {
			c.bad("%s: output %q is written by no node; expected the name of a value", who, name)
		}
	}
}

// cycles looks for functions that call themselves, directly or through others.
func (c *checker) cycles() {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(key string)
	visit = func(key string) {
		state[key] = open
		eachNode(c.functions[key].Nodes, func(n *Node) {
			called := functionKey(n.Domain, n.Op, n.Overload)
			if c.functions[called] == nil {
				return
			}
			switch state[called] {
			case open:
				c.bad("function %s: node %q calls %s, which calls it; expected functions that do not call themselves", key, n.Name, called)
			case 0:
				visit(called)
			}
		})
		state[key] = done
	}
	for _, f := range c.model.Functions {
		if key := functionKey(f.Domain, f.Name, f.Overload); state[key] == 0 {
			visit(key)
		}
	}
}

// eachNode visits nodes and those of their inner graphs.
func eachNode(nodes []*Node, visit func(*Node)) {
	for _, n := range nodes {
		visit(n)
		for _, a := range n.Attributes {
			for _, g := range append(a.Graphs[:len(a.Graphs):len(a.Graphs)], a.G) {
				if g != nil {
					eachNode(g.Nodes, visit)
				}
			}
		}
	}
}

func (c *checker) tensor(t *Tensor) {
	if err := t.check(); err != nil {
		c.problems = append(c.problems, err)
	}
	if l := t.Location(); t.IsExternal() && !filepath.IsLocal(l) {
		c.bad("tensor %q: external data in %q; expected a path inside the model's folder, put the file there", t.Name, l)
	}
}
