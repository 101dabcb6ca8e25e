package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// call is one operator on its way into the graph: what inference reads and fills.
type call struct {
	b    *Builder
	node *Node
	in   []Value
	out  []info
}

// inference fills c.out, or says what is wrong with the inputs.
type inference func(c *call) error

// operators holds the inference of every operator that the framework knows, by name; those outside ONNX's own domain are
// written "domain.Name". Filled by the infer_*.go files.
var operators = map[string]inference{}

func register(f inference, names ...string) {
	for _, n := range names {
		operators[n] = f
	}
}

// Key is the name of an operator in tables: "MatMul", "com.microsoft.FusedMatMul", "mdm.Network".
func Key(n *Node) string {
	if n.Domain == "" || n.Domain == "ai.onnx" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Op writes an operator with one output. op may name a domain, as in "com.microsoft.FusedMatMul".
func (b *Builder) Op(op string, attributes []*Attribute, in ...Value) Value {
	return b.OpN(op, 1, attributes, in...)[0]
}

// OpN writes an operator with n outputs.
func (b *Builder) OpN(op string, n int, attributes []*Attribute, in ...Value) []Value {
	out := make([]Value, n)
	if b.err != nil {
		return out
	}
	node := &Node{Op: op, Attributes: attributes}
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		node.Domain, node.Op = op[:i], op[i+1:]
	}
	for len(in) > 0 && !in[len(in)-1].Given() {
		in = in[:len(in)-1]
	}
	for i, v := range in {
		if v.Given() && b.values[v.name] != v.info {
			b.fail("%s: its input %d, %s, belongs to another graph", op, i, v)
			return out
		}
		node.Inputs = append(node.Inputs, v.name)
	}
	node.Name = b.fresh(node.Op)
	node.Outputs = make([]string, n)
	for i := range n {
		node.Outputs[i] = node.Name
		if i > 0 {
			node.Outputs[i] = fmt.Sprintf("%s.%d", node.Name, i)
		}
	}
	infos, err := b.infer(node)
	if err != nil {
		b.fail("%s(%s): %v", op, list(in), err)
		return out
	}
	return b.appendNode(node, infos)
}

// appendNode adds a node whose outputs are known.
func (b *Builder) appendNode(node *Node, infos []info) []Value {
	out := make([]Value, len(node.Outputs))
	b.nodes = append(b.nodes, node)
	if node.Domain != "" && b.opsets[node.Domain] == 0 {
		b.opsets[node.Domain] = 1
	}
	for i, name := range node.Outputs {
		if name == "" {
			continue
		}
		out[i] = b.put(name, infos[i])
		b.producer[name] = node
	}
	return out
}

// infer finds what is known of a node's outputs.
func (b *Builder) infer(node *Node) ([]info, error) {
	f, ok := operators[Key(node)]
	if !ok {
		return nil, fmt.Errorf("operator %s is unknown here%s", Key(node), nearest(Key(node)))
	}
	c := &call{b: b, node: node, in: make([]Value, len(node.Inputs)), out: make([]info, len(node.Outputs))}
	for i := range node.Inputs {
		c.in[i] = b.In(node, i)
		if node.Inputs[i] != "" && c.in[i].info == nil {
			return nil, fmt.Errorf("its input %q is written by no operator before it", node.Inputs[i])
		}
	}
	if err := f(c); err != nil {
		return nil, err
	}
	for i := range c.out {
		if c.out[i].typ == Undefined && node.Outputs[i] != "" && len(c.in) > 0 {
			c.out[i].typ = c.in[0].Type()
		}
		for j, d := range c.out[i].shape {
			if d.unknown() { // a name of its own, so that the same unknown size is recognised again
				b.unknowns++
				c.out[i].shape[j] = Named(fmt.Sprintf("?%d", b.unknowns))
			}
		}
	}
	return c.out, nil
}

// Extend gives a node further outputs, up to n, such as the saved statistics of a LayerNormalization.
func (b *Builder) Extend(node *Node, n int) {
	if b.err != nil || len(node.Outputs) >= n && !slices.Contains(node.Outputs[:n], "") {
		return
	}
	for len(node.Outputs) < n {
		node.Outputs = append(node.Outputs, "")
	}
	for i, name := range node.Outputs {
		if name == "" {
			node.Outputs[i] = b.fresh(fmt.Sprintf("%s.%d", node.Outputs[0], i))
		}
	}
	infos, err := b.infer(node)
	if err != nil {
		b.fail("%s: %v", node.Name, err)
		return
	}
	for i, name := range node.Outputs {
		if b.values[name] == nil {
			b.put(name, infos[i])
			b.producer[name] = node
		}
	}
}

func list(vs []Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

func nearest(key string) string {
	best, distance := "", len(key)/3+1
	for k := range operators {
		if d := levenshtein.Distance(key, k, nil); d < distance || d == distance && best != "" && k < best {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// attr finds an attribute of the node.
func (c *call) attr(name string) *Attribute { return c.node.Attribute(name) }

func (c *call) intAttr(name string, otherwise int64) int64 {
	if a := c.attr(name); a != nil {
		return a.I
	}
	return otherwise
}

// Attribute finds an attribute by name, or nil.
func (n *Node) Attribute(name string) *Attribute {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// IntAttr is an integer attribute, or otherwise where it is left out.
func (n *Node) IntAttr(name string, otherwise int64) int64 {
	if a := n.Attribute(name); a != nil {
		return a.I
	}
	return otherwise
}

// FloatAttr is a float attribute, or otherwise where it is left out.
func (n *Node) FloatAttr(name string, otherwise float32) float32 {
	if a := n.Attribute(name); a != nil {
		return a.F
	}
	return otherwise
}

// TextAttr is a string attribute, or otherwise where it is left out.
func (n *Node) TextAttr(name, otherwise string) string {
	if a := n.Attribute(name); a != nil {
		return string(a.S)
	}
	return otherwise
}

// IntsAttr is a list of integers, or nil where it is left out.
func (n *Node) IntsAttr(name string) []int64 {
	if a := n.Attribute(name); a != nil {
		return a.Ints
	}
	return nil
}
