package forward

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// port is one input of the model that the runtime feeds.
type port struct {
	name string
	typ  graph.Type // Int64, Int32 or Float32
	rank int
}

// Ports are the model's inputs and its logits.
type Ports struct {
	inputs    []port
	Rows      int    // fixed B, or 0
	Length    int    // fixed L, or 0
	attention bool   // the model has an attention mask
	positions bool   // the model has position ids
	bias      bool   // the model has an attention bias
	time      bool   // the model has a time input
	logits    string // name of the output
	logitType graph.Type
	insertion graph.Type // of the output insertion_rate [B, L+1]; Undefined without one
	unmask    graph.Type // of the output unmask_rate [B, L]; likewise
	External  bool       // some weights are in other files
}

// The inputs that a denoiser may have, and the types they may have.
var known = map[string][]graph.Type{
	"input_ids":      {graph.Int64, graph.Int32},
	"attention_mask": {graph.Int64, graph.Int32, graph.Float32},
	"token_type_ids": {graph.Int64, graph.Int32},
	"position_ids":   {graph.Int64, graph.Int32},
	"attention_bias": {graph.Float32},
	"timesteps":      {graph.Float32},
	"masked":         {graph.Int64, graph.Int32}, // planner networks
	"temperature":    {graph.Float32},            // models WithStatistics, whose own head has no part in a run
	"uniform":        {graph.Float32},
}

// FindPorts reads what the model takes and gives, and refuses what the runtime cannot feed. It sets m.V where it is 0.
func FindPorts(decoded *graph.Model, m *Model) (*Ports, error) {
	g := decoded.Graph
	if g == nil {
		return nil, fmt.Errorf("the file holds no graph; it is no ONNX model, or it is damaged")
	}
	p := &Ports{}
	var err error
	if p.External, err = m.CheckExternal(decoded); err != nil {
		return nil, err
	}
	for _, v := range g.Feeds() {
		if err := p.input(v); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(p.inputs, func(i port) bool { return i.name == "input_ids" }) {
		return nil, fmt.Errorf("has no input input_ids, only %s; a denoiser takes input_ids int64 [B, L]", Names(g.Feeds()))
	}
	return p, errors.Join(p.output(g, m), p.rates(g))
}

func (p *Ports) input(v *graph.ValueInfo) error {
	types, ok := known[v.Name]
	switch {
	case !ok:
		return fmt.Errorf("has an input %q (%s) that the runtime cannot fill; it fills input_ids, attention_mask, token_type_ids, position_ids, attention_bias and timesteps", v.Name, v.Type)
	case !slices.Contains(types, v.Type):
		return fmt.Errorf("input %s holds %s, expected %s", v.Name, v.Type, types[0])
	}
	rank := 2
	switch {
	case v.Name == "attention_bias":
		rank = 4
	case v.Name == "timesteps" && !(v.HasRank && len(v.Shape) == 2), v.Name == "temperature":
		rank = 1
	}
	if v.HasRank && len(v.Shape) != rank {
		return fmt.Errorf("input %s has %d dimensions, expected %d", v.Name, len(v.Shape), rank)
	}
	p.inputs = append(p.inputs, port{v.Name, v.Type, rank})
	p.attention = p.attention || v.Name == "attention_mask"
	p.positions = p.positions || v.Name == "position_ids"
	p.bias = p.bias || v.Name == "attention_bias"
	p.time = p.time || v.Name == "timesteps"
	for i, dim := range v.Shape {
		fixed := &p.Rows
		if i > 0 {
			fixed = &p.Length
		}
		switch {
		case i == 1 && (v.Name == "timesteps" || v.Name == "attention_bias"):
		case dim.Size < 0:
		case dim.Size == 0 || dim.Size > 1<<31 || *fixed != 0 && *fixed != int(dim.Size):
			return fmt.Errorf("input %s has shape %v, which does not fit the others; export the model anew with dynamic axes", v.Name, v.Shape)
		default:
			*fixed = int(dim.Size)
		}
	}
	return nil
}

// pads tells whether rows may be shorter than what the model runs.
func (p *Ports) pads() bool { return p.attention || p.bias }

// maxVocabDots bounds the vectors of one head, each a row of V numbers in the graph.
const maxVocabDots = 16

// Capabilities are what a runtime can do with the model by a head; names and states are the runtime's to add.
func (p *Ports) Capabilities(m *Model) sampling.Capabilities {
	grows := p.insertion != graph.Undefined
	return sampling.Capabilities{
		Serves: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true,
			KLPrev: true, LogpLeaveOneOut: p.noShadows(m.LogitsShift != 0) == "", TopK: m.V, Logits: true,
			InsertionRate: grows, UnmaskRate: p.unmask != graph.Undefined, FrozenGap: grows},
		VocabDots: maxVocabDots, MaxRows: p.Rows, FixedRows: p.Rows, MaxLength: p.Length, FixedLength: p.Length, Padding: p.pads(), V: m.V,
	}
}

// floats are the types that logits and rates may have.
var floats = []graph.Type{graph.Float32, graph.Float16, graph.BFloat16, graph.Float64}

// output finds the logits: the output of that name, or the only float one with three dimensions.
func (p *Ports) output(g *graph.Graph, m *Model) error {
	var found []*graph.ValueInfo
	for _, v := range g.Outputs {
		if v.Name == "logits" {
			found = []*graph.ValueInfo{v}
			break
		}
		if slices.Contains(floats, v.Type) && v.HasRank && len(v.Shape) == 3 {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("has outputs %s, expected one named logits, float [B, L, V]; rename the output when exporting", Names(g.Outputs))
	}
	v := found[0]
	if !slices.Contains(floats, v.Type) || v.HasRank && len(v.Shape) != 3 {
		return fmt.Errorf("output %s is %s %v, expected float [B, L, V]", v.Name, v.Type, v.Shape)
	}
	p.logits, p.logitType = v.Name, v.Type
	if v.HasRank && v.Shape[2].Size >= 0 {
		if w := int(v.Shape[2].Size); m.V == 0 {
			m.V = w
		} else if m.V != w {
			return fmt.Errorf("its logits are %d wide, expected %d; config.json and the ONNX file do not belong together", w, m.V)
		}
	}
	if m.V < 1 || m.V > 1<<24 {
		return fmt.Errorf("the width of its logits is %d, expected 1 to %d; give vocab_size in config.json", m.V, 1<<24)
	}
	return nil
}

// rates finds what insertion models say of gaps and masks.
func (p *Ports) rates(g *graph.Graph) error {
	for _, v := range g.Outputs {
		to, shape := &p.insertion, "[B, L+1]"
		switch v.Name {
		case insertionRate:
		case unmaskRate:
			to, shape = &p.unmask, "[B, L]"
		default:
			continue
		}
		if !slices.Contains(floats, v.Type) || v.HasRank && len(v.Shape) != 2 {
			return fmt.Errorf("output %s is %s %v, expected float %s; export it so", v.Name, v.Type, v.Shape, shape)
		}
		*to = v.Type
	}
	return nil
}

// Names lists values for messages.
func Names(values []*graph.ValueInfo) string {
	var out []string
	for _, v := range values {
		out = append(out, v.Name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
