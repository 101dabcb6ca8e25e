package artifact

import "github.com/mdmhost/mdmhost/framework/graph"

// Network is a network that training graphs call by name: one of ours (framework/network) or a foreign ONNX graph
// (framework/training/foreign).
type Network interface {
	// Signature says what the network takes and gives. Dimensions named "B" and "L" are batch and length.
	Signature() graph.Signature
	// Parameters are its tensors in a fixed order; Offset is not set.
	Parameters() []Parameter
	// Build writes the network once into b, from parameters by name and inputs by name, and returns its outputs by name. It may
	// be called several times in one graph. Mistakes are recorded in b.
	Build(b *graph.Builder, parameters, inputs map[string]graph.Value) map[string]graph.Value
}
