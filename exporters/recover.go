package exporters

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// parameters finds the network in a model. The error says why there is none that could be written in another language.
func parameters(m *model.Model) (network.Config, network.Values, error) {
	find := family.Recover
	if m.Config.ModelType == network.ModelType {
		find = network.Exported
	}
	c, values, err := find(m)
	if err != nil {
		return c, nil, fmt.Errorf("%w; the file itself can be taken elsewhere as it is: --to onnx", err)
	}
	return c, values, nil
}
