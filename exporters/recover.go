package exporters

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// parameters finds the network in a model. The error says why there is none that could be written in another language.
func parameters(m *model.Model) (network.Config, network.Values, error) {
	if m.Config.ModelType != network.ModelType {
		return network.Config{}, nil, fmt.Errorf("model %s: is an ONNX file of type %q, whose network has no rule here; its logits can be had from the file: --to onnx", m.Name, m.Config.ModelType)
	}
	find := network.Exported
	if len(m.Graph.External()) > 0 {
		find = network.From // the weights of linked models lie in model.safetensors
	}
	c, values, err := find(m)
	if err != nil {
		return c, nil, fmt.Errorf("%w; its logits can be had from the file: --to onnx", err)
	}
	return c, values, nil
}
