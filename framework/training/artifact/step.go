package artifact

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Step is training and optimiser as one graph, so that gradients need no buffer of their own and a step is one run.
func (s *Set) Step() (*graph.Model, error) {
	b := graph.NewBuilder("step", s.Training.Opset(""))
	inputs := map[string]graph.Value{}
	declare := func(m *graph.Model) map[string]graph.Value {
		bind := map[string]graph.Value{}
		for _, v := range m.Graph.Feeds() {
			if v.Name == Grads {
				continue
			}
			if _, there := inputs[v.Name]; !there {
				inputs[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
			}
			bind[v.Name] = inputs[v.Name]
		}
		return bind
	}
	first := b.Replay(s.Training, declare(s.Training), nil)
	bind := declare(s.Optimizer)
	bind[Grads] = first[Grads]
	second := b.Replay(s.Optimizer, bind, nil)
	var outputs []graph.Output
	for _, from := range []struct {
		m      *graph.Model
		values map[string]graph.Value
	}{{s.Training, first}, {s.Optimizer, second}} {
		for _, v := range from.m.Graph.Outputs {
			if v.Name != Grads {
				outputs = append(outputs, graph.Output{Name: v.Name, Value: from.values[v.Name]})
			}
		}
	}
	return b.Model(outputs...)
}

// Accumulated is the input of [Set.Accumulate] that holds the gradient so far, and Keep the scalar that it is multiplied
// with: 0 in the first pass of a step, 1 in the others.
const (
	Accumulated = "accumulated"
	Keep        = "keep"
)

// Accumulate is the training graph that adds its gradient to the one so far: for steps of several passes.
func (s *Set) Accumulate() (*graph.Model, error) {
	b := graph.NewBuilder("accumulate", s.Training.Opset(""))
	bind := map[string]graph.Value{}
	for _, v := range s.Training.Graph.Feeds() {
		bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
	}
	got := b.Replay(s.Training, bind, nil)
	so := b.Input(Accumulated, graph.Float32, got[Grads].Shape()...)
	keep := b.Input(Keep, graph.Float32)
	var outputs []graph.Output
	for _, v := range s.Training.Graph.Outputs {
		value := got[v.Name]
		if v.Name == Grads {
			value = b.Add(value, b.Mul(so, keep))
		}
		outputs = append(outputs, graph.Output{Name: v.Name, Value: value})
	}
	return b.Model(outputs...)
}
