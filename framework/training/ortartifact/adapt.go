// Package ortartifact runs training artifacts that ONNX Runtime's own generator wrote (onnxruntime-training up to 1.19.2,
// onnxruntime.training.artifacts.generate_artifacts) in the runtime as it is distributed, which has no training operators: a
// gradient operator becomes a function of plain operators inside the file. The generator's optimizer model is not adapted; the
// framework's own optimiser takes its place.
package ortartifact

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

//go:embed stock.txt
var stockList string

// stock tells whether the distributed runtime has an operator of com.microsoft.
func stock(op string) bool {
	for line := range strings.Lines(stockList) {
		if !strings.HasPrefix(line, "#") && slices.Contains(strings.Fields(line), op) {
			return true
		}
	}
	return false
}

// Adapt makes a training or evaluation model of the generator a model for the distributed runtime. Operators that only the
// training build has become functions of the model. What InPlaceAccumulatorV2 did to a buffer in place is an output:
// "X_grad.accumulation.out" is the float32 gradient, added to the buffer that was fed unless lazy_reset_grad is true. The model is
// not changed, and the result shares its payloads. An operator that only the training build has, and for which there is no
// function here, is an error that names node and operator.
func Adapt(training *graph.Model) (*graph.Model, error) {
	if training.Graph == nil {
		return nil, fmt.Errorf("training artifact: the file holds no graph; it is no ONNX model, or it is damaged")
	}
	m, g := *training, *training.Graph
	m.Graph = &g
	a := &adapter{model: &m, own: map[string]bool{}, functions: map[string]*graph.Function{}, floats: map[string]*graph.ValueInfo{}}
	for _, f := range m.Functions {
		a.own[f.Domain+"."+f.Name] = true
	}
	g.Nodes = nil
	for _, n := range training.Graph.Nodes {
		made, err := a.node(n)
		if err != nil {
			return nil, fmt.Errorf("training artifact %s: node %s (operator %s): %w", g.Name, n.Name, graph.Key(n), err)
		}
		g.Nodes = append(g.Nodes, made...)
	}
	g.Outputs = slices.Clone(g.Outputs)
	for i, v := range g.Outputs {
		if f := a.floats[v.Name]; f != nil {
			g.Outputs[i] = &graph.ValueInfo{Name: v.Name, Type: f.Type, Shape: f.Shape, HasRank: f.HasRank}
		}
	}
	g.Values = slices.DeleteFunc(slices.Clone(g.Values), func(v *graph.ValueInfo) bool { return a.floats[v.Name] != nil })
	m.Functions = slices.Clone(m.Functions)
	for _, key := range slices.Sorted(maps.Keys(a.functions)) {
		m.Functions = append(m.Functions, a.functions[key])
	}
	m.IRVersion = max(m.IRVersion, 8) // the first one with functions
	return &m, a.opsets()
}

// adapter is a model on its way.
type adapter struct {
	model     *graph.Model
	own       map[string]bool            // functions that the file brought
	functions map[string]*graph.Function // by what distinguishes them
	floats    map[string]*graph.ValueInfo
}

// node is what stands in the place of a node.
func (a *adapter) node(n *graph.Node) ([]*graph.Node, error) {
	for _, at := range n.Attributes {
		for _, g := range append(at.Graphs[:len(at.Graphs):len(at.Graphs)], at.G) {
			if err := a.inner(g); err != nil {
				return nil, err
			}
		}
	}
	if n.Domain != graph.Contrib || a.own[graph.Key(n)] || stock(n.Op) {
		return []*graph.Node{n}, nil
	}
	if n.Op == "InPlaceAccumulatorV2" {
		return a.accumulate(n)
	}
	write, ok := functions[n.Op]
	if !ok {
		return nil, fmt.Errorf("only ONNX Runtime's training build has this operator, and it has no function of plain operators here; write the model with other operators, or train it through the framework's own graphs")
	}
	call, err := a.call(n, write)
	return []*graph.Node{call}, err
}

// inner refuses training operators inside control flow: gradients of loops are beyond functions.
func (a *adapter) inner(g *graph.Graph) error {
	if g == nil {
		return nil
	}
	for _, n := range g.Nodes {
		if n.Domain == graph.Contrib && !a.own[graph.Key(n)] && !stock(n.Op) {
			return fmt.Errorf("its inner graph has node %s (operator %s), which only ONNX Runtime's training build has; write the model without control flow", n.Name, graph.Key(n))
		}
	}
	return nil
}

// accumulate writes InPlaceAccumulatorV2(buffer, new, reset): the flag that it returns becomes the sum itself.
func (a *adapter) accumulate(n *graph.Node) ([]*graph.Node, error) {
	if len(n.Inputs) < 2 || len(n.Outputs) == 0 || n.Outputs[0] == "" {
		return nil, fmt.Errorf("%d inputs, %d outputs; expected buffer, value and reset to one sum", len(n.Inputs), len(n.Outputs))
	}
	buffer, value, out := n.Inputs[0], n.Inputs[1], n.Outputs[0]
	i := slices.IndexFunc(a.model.Graph.Inputs, func(v *graph.ValueInfo) bool { return v.Name == buffer })
	if i < 0 || a.model.Graph.Inputs[i].Type != graph.Float32 {
		return nil, fmt.Errorf("its buffer %q is no float32 input of the graph; make the artifacts anew with float32 parameters", buffer)
	}
	a.floats[out] = a.model.Graph.Inputs[i]
	add := &graph.Node{Name: n.Name + "/Add", Op: "Add", Inputs: []string{buffer, value}, Outputs: []string{out + ".sum"}}
	if len(n.Inputs) < 3 || n.Inputs[2] == "" {
		add.Outputs[0] = out
		return a.alias(n, add), nil
	}
	return a.alias(n, add, &graph.Node{Name: n.Name + "/Where", Op: "Where", Inputs: []string{n.Inputs[2], value, out + ".sum"}, Outputs: []string{out}}), nil
}

// alias adds the second output of an accumulator, which is the sum, too.
func (a *adapter) alias(n *graph.Node, made ...*graph.Node) []*graph.Node {
	if len(n.Outputs) > 1 && n.Outputs[1] != "" {
		a.floats[n.Outputs[1]] = a.floats[n.Outputs[0]]
		made = append(made, &graph.Node{Name: n.Name + "/Identity", Op: "Identity", Inputs: n.Outputs[:1], Outputs: n.Outputs[1:2]})
	}
	return made
}

// opsets leaves the domains that the model uses.
func (a *adapter) opsets() error {
	used := map[string]bool{"": true, "ai.onnx": true}
	for _, n := range a.model.Graph.Nodes {
		used[n.Domain] = true
	}
	for _, f := range a.model.Functions {
		used[f.Domain] = true
		for _, n := range f.Nodes {
			used[n.Domain] = true
		}
	}
	m := a.model
	m.Opsets = slices.DeleteFunc(slices.Clone(m.Opsets), func(o graph.Opset) bool { return !used[o.Domain] })
	if used[graph.Contrib] && m.Opset(graph.Contrib) == 0 {
		m.Opsets = append(m.Opsets, graph.Opset{Domain: graph.Contrib, Version: 1})
	}
	for _, domain := range slices.Sorted(maps.Keys(used)) {
		if strings.HasPrefix(domain, "ai.onnx.") && strings.Contains(domain, "training") || domain == "org.pytorch.aten" {
			return fmt.Errorf("training artifact %s: it uses operators of the domain %s, which only ONNX Runtime's training build has; write the model without them", m.Graph.Name, domain)
		}
	}
	if o := m.Opset(""); len(a.functions) > 0 && o < 16 {
		return fmt.Errorf("training artifact %s: its opset is %d; expected 16 or later, export the model with a newer one and make the artifacts anew", m.Graph.Name, o)
	}
	return nil
}
