package network

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Exported is the network that [Export] wrote into a model's ONNX file, with the parameters as that file has them: exported
// again, in whatever form, it gives the logits of the file. [From] reads model.safetensors instead, which may be more precise.
// Matrices that the file stores in half precision and casts are taken, too. The error, for files that others wrote, lists the tensors that are missing
// or have another shape; exports whose arithmetic is not float32 hold no parameters.
func Exported(m *model.Model) (Config, Values, error) {
	c, err := configOf(m)
	if err != nil {
		return c, nil, err
	}
	for _, e := range m.Graph.Metadata {
		if e.Key == "mdm.precision" && (e.Value == "int8" || e.Value == "fp16") {
			return c, nil, fmt.Errorf("model %s: %s is an export in precision %s, which does not hold the network's parameters; take the model that it was made from, or an export of that with --to safetensors", m.Name, m.ONNXName, e.Value)
		}
	}
	wanted := map[string]bool{}
	for _, p := range Params(c) {
		wanted[p.Name] = true
	}
	file := m.Graph
	if len(file.External()) > 0 {
		if file, err = graph.Open(filepath.Join(m.Dir, m.ONNXName)); err != nil {
			return c, nil, err
		}
	}
	var tensors []safetensors.Tensor
	stored := map[string]*graph.Tensor{}
	take := func(name string, t *graph.Tensor) {
		if d := dtypeOf(t.Type); wanted[name] && t.Raw != nil && d != "" {
			tensors = append(tensors, safetensors.Tensor{Name: name, DType: d, Shape: t.Dims, Data: t.Raw})
		}
	}
	for _, t := range file.Graph.Initializers {
		stored[t.Name] = t
		take(t.Name, t)
	}
	for _, n := range file.Graph.Nodes { // what exports in precision fp16-weights store under another name
		if n.Op == "Cast" && len(n.Inputs) == 1 && len(n.Outputs) == 1 && stored[n.Inputs[0]] != nil {
			take(n.Outputs[0], stored[n.Inputs[0]])
		}
	}
	values, err := fromTensors(c, tensors)
	if err != nil {
		return c, nil, fmt.Errorf("%s: the file was not written by this program: %w", filepath.Join(m.Name, m.ONNXName), err)
	}
	return c, values, nil
}

// configOf reads the network of a model's config.json.
func configOf(m *model.Model) (Config, error) {
	text, err := m.ReadFile(configName)
	if err != nil {
		return Config{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	return ParseConfig(filepath.Join(m.Name, configName), text)
}

// Biased is the network that [Export] or [ExportLinked] wrote into a model's ONNX file, with the further inputs attention_bias and position_ids
// (ExportOptions.Bias). Where the weights are in another file, they stay there: the result is to stand in the folder of the model's.
func Biased(m *model.Model) (*graph.Model, error) {
	o := ExportOptions{Opset: m.Graph.Opset(""), Bias: true}
	if locations := m.Graph.External(); len(locations) == 1 {
		c, err := configOf(m)
		if err != nil {
			return nil, err
		}
		return ExportLinked(c, linksOf(m.Graph), locations[0], o)
	}
	c, values, err := Exported(m)
	if err != nil {
		return nil, err
	}
	return Export(c, values, o)
}

// linksOf is the layout that a model's links tell.
func linksOf(m *graph.Model) Layout {
	out := Layout{}
	for _, t := range m.Graph.Initializers {
		if !t.IsExternal() {
			continue
		}
		at := Place{DType: dtypeOf(t.Type), Shape: t.Dims}
		for _, e := range t.External {
			switch e.Key { // package model has read them
			case "offset":
				at.Offset, _ = strconv.ParseInt(e.Value, 10, 64)
			case "length":
				at.Length, _ = strconv.ParseInt(e.Value, 10, 64)
			}
		}
		out[t.Name] = at
	}
	return out
}

// dtypeOf is the type of parameters in a safetensors file, or "".
func dtypeOf(t graph.Type) safetensors.DType {
	for d, one := range onnxTypes {
		if one == t {
			return d
		}
	}
	return ""
}
