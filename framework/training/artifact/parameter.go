package artifact

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Parameter is one tensor of the flat vector that programs keep: all parameters of all networks, one after the other.
type Parameter struct {
	Name   string  `json:"name"` // network and tensor: "denoiser.layers.0.attention.q.weight"
	Shape  []int64 `json:"shape"`
	Offset int64   `json:"offset"` // in elements
	Rate   float64 `json:"rate"`   // factor of the learning rate
	// Decay says whether weight decay applies at all (not to norms and biases), DecayRate is its factor.
	Decay     bool    `json:"-"`
	DecayRate float64 `json:"decay"`
}

// Size is the number of elements.
func (p *Parameter) Size() int64 {
	n := int64(1)
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// lay gives every parameter its place and returns the length of the vector.
func lay(ps []Parameter) (int64, error) {
	at := int64(0)
	seen := map[string]bool{}
	for i := range ps {
		if seen[ps[i].Name] {
			return 0, fmt.Errorf("parameter %s: the name occurs twice; expected every parameter once", ps[i].Name)
		}
		seen[ps[i].Name] = true
		ps[i].Offset = at
		at += ps[i].Size()
	}
	return at, nil
}

// split cuts the flat vector into the tensors, by name. Its gradient is one Concat.
func split(b *graph.Builder, flat graph.Value, ps []Parameter) map[string]graph.Value {
	sizes := make([]int64, len(ps))
	for i := range ps {
		sizes[i] = ps[i].Size()
	}
	out := make(map[string]graph.Value, len(ps))
	if len(ps) == 0 {
		return out
	}
	defer b.Scope("parameters")()
	for i, part := range b.Split(flat, 0, sizes...) {
		shape := make([]graph.Dim, len(ps[i].Shape))
		for j, d := range ps[i].Shape {
			shape[j] = graph.Known(d)
		}
		end := b.Scope(ps[i].Name)
		out[ps[i].Name] = b.Reshape(part, shape...)
		end()
	}
	return out
}
