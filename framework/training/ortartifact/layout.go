package ortartifact

import (
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Layout says what the inputs and outputs of a training model are.
type Layout struct {
	Feeds      []string // the user's inputs: the batch
	Parameters []Slot   // in the order of the file
	Loss       string   // output: what is minimised
	Reset      string   // bool input [1]: gradients replace what is in the buffers instead of adding up; "" where there is none
}

// Slot is one trained tensor: names of inputs and outputs.
type Slot struct {
	Name     string // input: the parameter
	Buffer   string // input: gradient so far, of the parameter's shape
	Gradient string // output: gradient, added to the buffer
	Shape    []graph.Dim
}

// The generator's names.
const (
	bufferSuffix   = "_grad.accumulation.buffer"
	gradientSuffix = "_grad.accumulation.out"
	resetInput     = "lazy_reset_grad"
)

// Describe finds the ports of a training model of the generator, before or after [Adapt].
func Describe(training *graph.Model) (*Layout, error) {
	if training.Graph == nil || len(training.Graph.Outputs) == 0 {
		return nil, fmt.Errorf("training artifact: the file has no graph with outputs; it is no ONNX model, or it is damaged")
	}
	g := training.Graph
	fail := func(format string, args ...any) (*Layout, error) {
		return nil, fmt.Errorf("training artifact %s: %s; expected a training_model.onnx as onnxruntime.training.artifacts writes it", g.Name, fmt.Sprintf(format, args...))
	}
	outputs, buffers := map[string]bool{}, map[string]bool{}
	for _, v := range g.Outputs {
		outputs[v.Name] = true
	}
	for _, v := range g.Feeds() {
		if name, ok := strings.CutSuffix(v.Name, bufferSuffix); ok {
			buffers[name] = true
		}
	}
	l := &Layout{Loss: g.Outputs[0].Name}
	for _, v := range g.Feeds() {
		switch {
		case v.Name == resetInput:
			l.Reset = v.Name
		case buffers[v.Name]:
			s := Slot{Name: v.Name, Buffer: v.Name + bufferSuffix, Gradient: v.Name + gradientSuffix, Shape: v.Shape}
			if !outputs[s.Gradient] {
				return fail("the parameter %s has a buffer and no output %s", v.Name, s.Gradient)
			}
			l.Parameters = append(l.Parameters, s)
		case !strings.HasSuffix(v.Name, bufferSuffix):
			l.Feeds = append(l.Feeds, v.Name)
		}
	}
	if len(l.Parameters) == 0 || len(l.Parameters) != len(buffers) {
		return fail("%d buffers for gradients and %d parameters for them", len(buffers), len(l.Parameters))
	}
	return l, nil
}
