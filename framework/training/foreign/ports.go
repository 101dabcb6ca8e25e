package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// ports are what the file takes and gives, as runtimes/onnx reads it.
type ports struct {
	inputs       []*graph.ValueInfo
	rows, length graph.Dim // "B" and "L" unless the file fixes them
	logits       string
	width        graph.Dim
}

var inputTypes = map[string][]graph.Type{
	"input_ids":      {graph.Int64, graph.Int32},
	"attention_mask": {graph.Int64, graph.Int32, graph.Float32},
	"token_type_ids": {graph.Int64, graph.Int32},
	"position_ids":   {graph.Int64, graph.Int32},
	"timesteps":      {graph.Float32},
}

func (p *ports) find(g *graph.Graph) error {
	p.rows, p.length = graph.Named("B"), graph.Named("L")
	p.inputs = g.Feeds()
	for _, v := range p.inputs {
		if err := p.input(v); err != nil {
			return err
		}
	}
	if p.has("input_ids") == nil {
		return fmt.Errorf("it has no input input_ids, only %s; a denoiser takes input_ids int64 [B, L]", names(p.inputs))
	}
	return p.output(g)
}

func (p *ports) has(name string) *graph.ValueInfo {
	for _, v := range p.inputs {
		if v.Name == name {
			return v
		}
	}
	return nil
}

func (p *ports) input(v *graph.ValueInfo) error {
	types, ok := inputTypes[v.Name]
	switch {
	case !ok:
		return fmt.Errorf("it has an input %q (%s) that cannot be filled; expected input_ids, attention_mask, token_type_ids, position_ids and timesteps", v.Name, v.Type)
	case !slices.Contains(types, v.Type):
		return fmt.Errorf("input %s holds %s; expected %s, export the model anew", v.Name, v.Type, types[0])
	case v.Name == "timesteps" && v.HasRank && len(v.Shape) != 1 && (len(v.Shape) != 2 || v.Shape[1].Size != 1):
		return fmt.Errorf("input %s has shape %v; expected [B] or [B, 1], export the model anew", v.Name, v.Shape)
	case v.Name != "timesteps" && v.HasRank && len(v.Shape) != 2:
		return fmt.Errorf("input %s has %d dimensions; expected [B, L]", v.Name, len(v.Shape))
	}
	for i, dim := range v.Shape {
		to := &p.rows
		if i == 1 {
			to = &p.length
		}
		switch {
		case dim.Size < 0 || i == 1 && v.Name == "timesteps":
		case v.Name == "position_ids" && i == 0 && dim.Size == 1: // one row for all
		case dim.Size == 0 || to.IsKnown() && to.Size != dim.Size:
			return fmt.Errorf("input %s has shape %v, which does not fit the others; export the model anew with dynamic axes", v.Name, v.Shape)
		default:
			*to = graph.Known(dim.Size)
		}
	}
	return nil
}

// output finds the logits: the output of that name, or the only float one with three dimensions.
func (p *ports) output(g *graph.Graph) error {
	var found []*graph.ValueInfo
	for _, v := range g.Outputs {
		if v.Name == "logits" {
			found = []*graph.ValueInfo{v}
			break
		}
		if float(v.Type) && v.HasRank && len(v.Shape) == 3 {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("it has outputs %s; expected one named logits, float32 [B, L, V], rename the output when exporting", names(g.Outputs))
	}
	v := found[0]
	if v.Type != graph.Float32 || v.HasRank && len(v.Shape) != 3 {
		return fmt.Errorf("output %s is %s %v; expected float32 [B, L, V], training needs the model in float32", v.Name, v.Type, v.Shape)
	}
	if p.logits = v.Name; v.HasRank {
		p.width = v.Shape[2]
	}
	return nil
}

func names(values []*graph.ValueInfo) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Name
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// sign says what the network takes: what a trainer gives. The rest is supplied by Build.
func (n *Network) sign(width graph.Dim) {
	p := &n.ports
	ids := []graph.Dim{p.rows, p.length}
	n.signature.Inputs = []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: ids}}
	if p.has("attention_mask") != nil {
		n.signature.Inputs = append(n.signature.Inputs, graph.Port{Name: "attention_mask", Type: graph.Int64, Shape: ids})
	}
	if p.has("timesteps") != nil {
		n.signature.Inputs = append(n.signature.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: ids[:1]})
	}
	n.signature.Outputs = []graph.Port{{Name: "logits", Type: graph.Float32, Shape: []graph.Dim{p.rows, p.length, width}}}
}
