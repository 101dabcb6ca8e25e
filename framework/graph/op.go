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
	node := &Node{Op: op, Attributes: attributes}
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		node.Domain, node.Op = op[:i], op[i+1:]
	}
	return b.write("", node, n, in)
}

// write names a node, its inputs and n outputs, and adds it to the graph. origin says for messages where it comes from.
func (b *Builder) write(origin string, node *Node, n int, in []Value) []Value {
	out := make([]Value, n)
	if b.err != nil {
		return out
	}
	for len(in) > 0 && !in[len(in)-1].Given() {
		in = in[:len(in)-1]
	}
	for i, v := range in {
		if v.Given() && b.values[v.name] != v.info {
			b.fail("%s%s: its input %d, %s, belongs to another graph; make it in this one", origin, Key(node), i, v)
			return out
		}
		node.Inputs = append(node.Inputs, v.name)
	}
	node.Name = b.fresh(node.Op)
	node.Outputs = make([]string, n)
	for i := range n {
		node.Outputs[i] = b.output(node, i)
	}
	infos, err := b.infer(node)
	if err != nil {
		b.fail("%s%s(%s): %v", origin, Key(node), list(in), err)
		return out
	}
	b.nodes = append(b.nodes, node)
	if node.Domain != "" && b.opsets[node.Domain] == 0 {
		b.opsets[node.Domain] = 1
	}
	for i, name := range node.Outputs {
		out[i] = b.put(name, infos[i])
		b.producer[name] = node
	}
	return out
}

// output is the name of a node's i-th output: the node's own for the first.
func (b *Builder) output(node *Node, i int) string {
	if i == 0 {
		return node.Name
	}
	name := fmt.Sprintf("%s.%d", node.Name, i)
	for b.values[name] != nil {
		name += "_"
	}
	return name
}

// infer finds what is known of a node's outputs.
func (b *Builder) infer(node *Node) ([]info, error) {
	if len(node.Outputs) == 0 {
		return nil, fmt.Errorf("no output is asked for; expected at least one")
	}
	f, err := b.inference(node)
	if err != nil {
		return nil, err
	}
	c := &call{b: b, node: node, in: make([]Value, len(node.Inputs)), out: make([]info, len(node.Outputs))}
	for i, name := range node.Inputs {
		c.in[i] = b.In(node, i)
		if name != "" && c.in[i].info == nil {
			return nil, fmt.Errorf("its input %q is written by no operator before it", name)
		}
	}
	if err := f(c); err != nil {
		return nil, err
	}
	for i := range c.out {
		if err := b.nameUnknown(c.out[i].shape); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// inference finds the inference of a node's operator, and holds the call against the operator's signature.
func (b *Builder) inference(node *Node) (inference, error) {
	s, known, err := signatureOf(node, b.opset)
	if err != nil {
		return nil, err
	}
	f, inferred := operators[Key(node)]
	if body, ok := b.functions[functionKey(node.Domain, node.Op, node.Overload)]; ok && !inferred {
		return func(c *call) error { return inferFunction(c, body) }, nil
	}
	switch {
	case !inferred && known:
		return nil, fmt.Errorf("operator %s is not supported in graphs that are built or differentiated; write it with other operators", Key(node))
	case !inferred:
		return nil, fmt.Errorf("operator %s is unknown%s", Key(node), nearest(Key(node)))
	case s != nil:
		if problems := s.problems(node, b.function); len(problems) > 0 {
			return nil, problems[0]
		}
	}
	return f, nil
}

// nameUnknown gives each unknown size a name of its own, so that the same size is recognised again.
func (b *Builder) nameUnknown(shape []Dim) error {
	for i, d := range shape {
		if d.unknown() {
			b.unknowns++
			shape[i] = Named(fmt.Sprintf("?%d", b.unknowns))
		}
		if n, ok := d.literal(); ok && n < 0 {
			return fmt.Errorf("the result would have the size %d in dimension %d; expected sizes from 0", n, i)
		}
	}
	return nil
}

// Extend gives a node further outputs, up to n, such as the saved statistics of a LayerNormalization.
func (b *Builder) Extend(node *Node, n int) {
	if b.err != nil || len(node.Outputs) >= n && !slices.Contains(node.Outputs[:n], "") {
		return
	}
	extended := *node // what is wrong leaves the node as it was
	extended.Outputs = slices.Clone(node.Outputs)
	for i := range max(n, len(extended.Outputs)) {
		if i == len(extended.Outputs) {
			extended.Outputs = append(extended.Outputs, "")
		}
		if i < n && extended.Outputs[i] == "" {
			extended.Outputs[i] = b.output(node, i)
		}
	}
	infos, err := b.infer(&extended)
	if err != nil {
		b.fail("%s: %v", node.Name, err)
		return
	}
	node.Outputs = extended.Outputs
	for i, name := range node.Outputs {
		if name != "" && b.values[name] == nil {
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

// nearest suggests the known operator whose name is most like key, for messages.
func nearest(key string) string {
	best, distance := "", len(key)/3+1
	for k := range operators {
		if d := levenshtein.Distance(key, k, nil); d < distance || d == distance && best != "" && k < best {
			best, distance = k, d
		}
	}
	if best == "" {
		return "; expected an operator of ONNX, or one of " + Domain + " or " + Contrib
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
