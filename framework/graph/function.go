package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The framework's own operators, in the domain mdm. Each is a function of stock operators, written into the models that use it, so
// that every ONNX Runtime runs them, on every provider and for every float type. Where the host registers a kernel of the
// same name (runtimes/onnx, CPU), the runtime takes the kernel instead.

// body is an operator written with others: write reads the inputs and returns the outputs.
type body struct {
	inputs     []string
	outputs    []string
	attributes []*Attribute // with their defaults; write reads them with [Builder.parameter]
	write      func(b *Builder, in []Value) []Value
}

// functions holds the bodies by key, such as "mdm.GeluGrad".
var functions = map[string]body{}

// define makes an operator of the framework known: its function and its inference.
func define(name string, infer inference, f body) {
	functions[Domain+"."+name] = f
	register(infer, Domain+"."+name)
}

// parameter is the value of a float attribute of the function that is written, in the element type of like.
func (b *Builder) parameter(name string, like Value) Value {
	return b.Op("CastLike", nil, b.Op("Constant", []*Attribute{Ref("value_float", KindFloat, name)}), like)
}

// function writes the body for an opset.
func (f body) function(key string, opset int64) (*Function, error) {
	b := NewBuilder(key, opset)
	b.function = true
	in := make([]Value, len(f.inputs))
	for i, name := range f.inputs {
		in[i] = b.put(name, info{})
	}
	out := f.write(b, in)
	if b.err != nil {
		return nil, fmt.Errorf("function %s: %w", key, b.err)
	}
	rename := map[string]string{}
	for i, v := range out {
		rename[v.name] = f.outputs[i]
	}
	dot := strings.LastIndexByte(key, '.')
	fn := &Function{Domain: key[:max(dot, 0)], Name: key[dot+1:], Inputs: f.inputs, Outputs: f.outputs, Defaults: f.attributes, Opsets: []Opset{{"", opset}}}
	for _, n := range b.nodes {
		fn.Nodes = append(fn.Nodes, renamed(n, rename))
	}
	for _, d := range slices.Sorted(maps.Keys(b.opsets)) {
		fn.Opsets = append(fn.Opsets, Opset{d, b.opsets[d]})
	}
	return fn, nil
}

// addFunctions writes the functions that nodes call into the model, and those that these call.
func (b *Builder) addFunctions(m *Model) error {
	called := map[string]*Function{}
	for todo := [][]*Node{m.Graph.Nodes}; len(todo) > 0; todo = todo[1:] {
		for _, n := range todo[0] {
			key := functionKey(n.Domain, n.Op, n.Overload)
			if n.Domain == "" || called[key] != nil {
				continue
			}
			fn := b.functions[key]
			if f, ours := functions[key]; ours {
				var err error
				if fn, err = f.function(key, b.opset); err != nil {
					return err
				}
			}
			if fn != nil {
				called[key] = fn
				todo = append(todo, fn.Nodes)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(called)) {
		m.Functions = append(m.Functions, called[key])
	}
	return nil
}

// functionKey is the name of a function in tables, that of [Key] for most.
func functionKey(domain, name, overload string) string {
	key := Key(&Node{Domain: domain, Op: name})
	if overload != "" {
		key += ":" + overload
	}
	return key
}

// Bounds of the inference through functions, far above real models: functions inside functions, and nodes in all.
const (
	maxCalls = 16
	maxSteps = 1 << 18
)

// inferFunction follows a function of the model's own through its body.
func inferFunction(c *call, f *Function) error {
	if problems := f.problems(c.node); len(problems) > 0 {
		return problems[0]
	}
	w := NewBuilder(f.Name, c.b.opset)
	w.function, w.functions, w.networks, w.unknowns = true, c.b.functions, c.b.networks, c.b.unknowns
	w.calls, w.steps = c.b.calls+1, c.b.steps
	defer func() { c.b.unknowns, c.b.steps = w.unknowns, w.steps }()
	for i, name := range f.Inputs {
		in := info{}
		if v := c.input(i); v.Given() {
			in = *v.info
		}
		w.put(name, in)
	}
	for _, n := range f.Nodes {
		if w.steps++; w.calls > maxCalls || w.steps > maxSteps {
			return fmt.Errorf("function %s calls too many others; expected functions that do not call themselves", Key(c.node))
		}
		n = resolved(n, c.node, f)
		out, err := w.infer(n)
		if err != nil {
			return fmt.Errorf("function %s: node %q: %s: %w", Key(c.node), n.Name, Key(n), err)
		}
		for i, name := range n.Outputs {
			w.put(name, out[i])
		}
	}
	for i := range c.out {
		if i >= len(f.Outputs) || w.values[f.Outputs[i]] == nil {
			return fmt.Errorf("function %s writes no output %d; expected %d outputs", Key(c.node), i, len(f.Outputs))
		}
		c.out[i] = *w.values[f.Outputs[i]]
	}
	return nil
}

// resolved is a node of a function's body with the attributes of the call in the place of references.
func resolved(n, call *Node, f *Function) *Node {
	if !slices.ContainsFunc(n.Attributes, func(a *Attribute) bool { return a.Ref != "" }) {
		return n
	}
	out := *n
	out.Attributes = nil
	for _, a := range n.Attributes {
		if a.Ref != "" {
			value := call.Attribute(a.Ref)
			if i := slices.IndexFunc(f.Defaults, func(d *Attribute) bool { return d.Name == a.Ref }); value == nil && i >= 0 {
				value = f.Defaults[i]
			}
			if value == nil { // an attribute left out at the call is left out in the body
				continue
			}
			named := *value
			named.Name = a.Name
			a = &named
		}
		out.Attributes = append(out.Attributes, a)
	}
	return &out
}
