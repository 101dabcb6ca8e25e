package exporters

import (
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Source is the model that is taken elsewhere.
type Source struct {
	*model.Model
	Digest string // of [model.Model.Digest]

	// Config and Values are the network and its parameters, nil where the model is an ONNX file of no family with a rule. Logits of
	// such models can be had from the file alone: target onnx.
	Config *network.Config
	Values network.Values
	Why    error // why they are nil: what is missing, ending with the alternative
}
