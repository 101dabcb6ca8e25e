package forward

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// What insertion models give beside their logits, and the same where it had to be made float32.
const (
	insertionRate   = "insertion_rate"     // float [B, L+1]
	unmaskRate      = "unmask_rate"        // float [B, L]
	insertionRate32 = "mdm/insertion_rate" // float32 [B, L+1]
	unmaskRate32    = "mdm/unmask_rate"    // float32 [B, L]
)

// askRates returns the names of the rates that somebody needs, as outputs of the session; g takes what makes them float32.
func (p *Ports) askRates(g *graph.Graph, needs *sampling.Needs) (outputs []string) {
	ask := func(is bool, name, as string, typ graph.Type) {
		switch {
		case !is:
		case typ == graph.Float32:
			outputs = append(outputs, name)
		default:
			g.Nodes = append(g.Nodes, &graph.Node{Name: as + "/Cast", Op: "Cast", Inputs: []string{name}, Outputs: []string{as},
				Attributes: []*graph.Attribute{graph.Int("to", int64(graph.Float32))}})
			g.Outputs = append(g.Outputs, value(as, graph.Float32, "B", ""))
			outputs = append(outputs, as)
		}
	}
	ask(needs.InsertionRate, insertionRate, insertionRate32, p.insertion)
	ask(needs.UnmaskRate, unmaskRate, unmaskRate32, p.unmask)
	return outputs
}

// fetchGaps binds the output [rows, length+1] and returns its part [b, l+1].
func fetchGaps(a *allocation, s *Pass) []float32 {
	out := alloc[float32](a, s, s.b*(s.l+1))
	if !s.padded() {
		bind(a, &s.Out, out, s.rows, s.length+1)
		return out
	}
	src := alloc[float32](a, s, s.rows*(s.length+1))
	s.fetches = append(s.fetches, func() {
		for i := range s.b {
			copy(out[i*(s.l+1):(i+1)*(s.l+1)], src[i*(s.length+1):])
		}
	})
	bind(a, &s.Out, src, s.rows, s.length+1)
	return out
}
