package artifact

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Transformer is one of the framework's networks as artifacts see it. Positions and what attends to
// what are the network's own business.
func Transformer(c network.Config) Network { return transformer{c} }

type transformer struct{ network.Config }

// Signature implements [Network].
func (n transformer) Signature() graph.Signature {
	s := network.Signature(n.Config)
	out := graph.Signature{Outputs: s.Outputs}
	for _, p := range s.Inputs {
		if p.Name != "position_ids" && p.Name != "attention_bias" {
			out.Inputs = append(out.Inputs, p)
		}
	}
	return out
}

// Parameters implements [Network].
func (n transformer) Parameters() []Parameter {
	var out []Parameter
	for _, p := range network.Params(n.Config) {
		out = append(out, Parameter{Name: p.Name, Shape: p.Shape, Decay: p.Decay})
	}
	return out
}

// Build implements [Network].
func (n transformer) Build(b *graph.Builder, parameters, inputs map[string]graph.Value) map[string]graph.Value {
	return network.Build(b, n.Config, parameters, inputs)
}
