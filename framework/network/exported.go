package network

import (
	"fmt"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Exported is the network that [Export] wrote into a model's ONNX file, with the parameters as that file has them: exported
// again, in whatever form, it gives the logits of the file. [From] reads model.safetensors instead, which may be more precise.
// The error, for files that others wrote, lists the tensors that are missing or have another shape.
func Exported(m *model.Model) (Config, Values, error) {
	text, err := m.ReadFile(configName)
	if err != nil {
		return Config{}, nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	c, err := ParseConfig(filepath.Join(m.Name, configName), text)
	if err != nil {
		return c, nil, err
	}
	wanted := map[string]bool{}
	for _, p := range Params(c) {
		wanted[p.Name] = true
	}
	var tensors []safetensors.Tensor
	for _, t := range m.Graph.Graph.Initializers {
		as := safetensors.Tensor{Name: t.Name, DType: safetensors.F32, Shape: t.Dims, Data: t.Raw}
		if t.Type == graph.Float16 {
			as.DType = safetensors.F16
		}
		if wanted[t.Name] && t.Raw != nil && (t.Type == graph.Float16 || t.Type == graph.Float32) {
			tensors = append(tensors, as)
		}
	}
	values, err := fromTensors(c, tensors)
	if err != nil {
		return c, nil, fmt.Errorf("%s: the file was not written by this program: %w", filepath.Join(m.Name, m.ONNXName), err)
	}
	return c, values, nil
}
