package ortartifact

import (
	"fmt"
	"math"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// functions write the operators of the training build with plain ones, by name in com.microsoft. The other files fill it.
var functions = map[string]writer{}

// A writer writes one operator. Attributes of the call are constants of its function.
type writer func(w *body) []string

// body is a function being written.
type body struct {
	call    *graph.Node
	nodes   []*graph.Node
	problem error
}

// in is the name of input i, "" where the call leaves it out.
func (w *body) in(i int) string {
	if i >= len(w.call.Inputs) || w.call.Inputs[i] == "" {
		return ""
	}
	return fmt.Sprintf("in%d", i)
}

// wants tells whether the call asks for output i.
func (w *body) wants(i int) bool { return i < len(w.call.Outputs) && w.call.Outputs[i] != "" }

func (w *body) fail(format string, args ...any) []string {
	if w.problem == nil {
		w.problem = fmt.Errorf(format, args...)
	}
	return nil
}

// op writes a node with one output.
func (w *body) op(op string, in ...string) string { return w.with(op, nil, in...) }

// with writes a node with attributes.
func (w *body) with(op string, attributes []*graph.Attribute, in ...string) string {
	out := fmt.Sprintf("t%d", len(w.nodes))
	w.nodes = append(w.nodes, &graph.Node{Op: op, Attributes: attributes, Inputs: in, Outputs: []string{out}})
	return out
}

func (w *body) constant(t *graph.Tensor) string {
	return w.with("Constant", []*graph.Attribute{graph.TensorValue("value", t)})
}

func (w *body) float(v float64) string {
	return w.constant(graph.OfFloats("", nil, []float32{float32(v)}))
}

func (w *body) int(v int64) string { return w.constant(graph.OfInts("", nil, []int64{v})) }

func (w *body) ints(v ...int64) string {
	return w.constant(graph.OfInts("", []int64{int64(len(v))}, v))
}

func (w *body) zeros(shape string) string {
	return w.with("ConstantOfShape", []*graph.Attribute{graph.TensorValue("value", graph.OfFloats("", []int64{1}, []float32{0}))}, shape)
}

func (w *body) cast(x string, to graph.Type) string {
	return w.with("Cast", []*graph.Attribute{graph.Int("to", int64(to))}, x)
}

func (w *body) sum(x, axes string, keep int64) string {
	return w.with("ReduceSum", []*graph.Attribute{graph.Int("keepdims", keep)}, x, axes)
}

func (w *body) concat(in ...string) string {
	return w.with("Concat", []*graph.Attribute{graph.Int("axis", 0)}, in...)
}

// vector is x as one dimension.
func (w *body) vector(x string) string { return w.op("Reshape", x, w.ints(-1)) }

// scatter adds updates to zeros [N] at indices. Other than ScatterND, ScatterElements adds right with several threads.
func (w *body) scatter(n, indices, updates string, axis int64) string {
	return w.with("ScatterElements", []*graph.Attribute{graph.Int("axis", axis), graph.String("reduction", "add")}, w.zeros(n), indices, updates)
}

// call makes the call of a node's function, which is written if no call before was like it.
func (a *adapter) call(n *graph.Node, write writer) (*graph.Node, error) {
	present := func(names []string, prefix string) (given, formal []string) {
		for i, name := range names {
			if name != "" {
				given, formal = append(given, name), append(formal, fmt.Sprintf("%s%d", prefix, i))
			}
		}
		return given, formal
	}
	inputs, takes := present(n.Inputs, "in")
	outputs, gives := present(n.Outputs, "out")
	key := fmt.Sprint(n.Op, takes, gives)
	for _, at := range n.Attributes {
		key += fmt.Sprintf(" %s %d %x %q", at.Name, at.I, math.Float32bits(at.F), at.S)
	}
	f := a.functions[key]
	if f == nil {
		w := &body{call: n}
		results := write(w)
		if w.problem != nil {
			return nil, w.problem
		}
		f = &graph.Function{Domain: graph.Contrib, Name: a.fresh(n.Op), Inputs: takes, Outputs: gives, Nodes: w.nodes, Opsets: []graph.Opset{{Version: a.model.Opset("")}}}
		for i := range n.Outputs {
			if !w.wants(i) {
				continue
			}
			if i >= len(results) {
				return nil, fmt.Errorf("it gives output %d (%s), which is unknown here; expected at most %d outputs", i, n.Outputs[i], len(results))
			}
			f.Nodes = append(f.Nodes, &graph.Node{Op: "Identity", Inputs: []string{results[i]}, Outputs: []string{fmt.Sprintf("out%d", i)}})
		}
		a.functions[key] = f
	}
	return &graph.Node{Name: n.Name, Op: f.Name, Domain: f.Domain, Inputs: inputs, Outputs: outputs, Unknown: n.Unknown}, nil
}

// fresh is the operator's own name for the first function, with a number for others.
func (a *adapter) fresh(op string) string {
	n := 1
	for _, f := range a.functions {
		if f.Name == op || strings.HasPrefix(f.Name, op+".") {
			n++
		}
	}
	if n == 1 {
		return op
	}
	return fmt.Sprintf("%s.%d", op, n)
}
