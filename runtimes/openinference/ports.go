package openinference

import (
	"fmt"
	"slices"
	"strings"
)

// What exports take and give: see package exporters/onnx.
const (
	inputIDs      = "input_ids"      // int [B, L]
	attentionMask = "attention_mask" // int [B, L]
	tokenTypeIDs  = "token_type_ids" // int [B, L], zeros
	positionIDs   = "position_ids"   // int [B, L], 0 to L-1
	timesteps     = "timesteps"      // FP32 [B]
	temperature   = "temperature"    // FP32 [B], with the statistics head
	uniform       = "uniform"        // FP32 [B, L], likewise

	logits        = "logits"         // FP32 [B, L, V]
	insertionRate = "insertion_rate" // FP32 [B, L+1]
	unmaskRate    = "unmask_rate"    // FP32 [B, L]
	proposal      = "proposal"       // int [B, L]: a token, or below 0 a fault; this and the rest with the statistics head
	logpProposal  = "logp_proposal"  // FP32 [B, L]
	p1            = "p1"             // FP32 [B, L]
	p2            = "p2"             // FP32 [B, L]
	entropy       = "entropy"        // FP32 [B, L]
	logpCurrent   = "logp_current"   // FP32 [B, L]
)

// port is an input or an output as a server describes it.
type port struct {
	name, datatype string
	shape          []int64 // -1 is any size
}

func (p port) String() string { return fmt.Sprintf("%s %v", p.datatype, p.shape) }

// signature is what a server says of a model.
type signature struct {
	inputs, outputs []port
	maxBatch        int // most rows of a request, or 0 where the server says nothing
}

// ports are a signature that fits the model.
type ports struct {
	signature
	rows, length int  // as the graph was exported for; 0 is any
	attention    bool // it takes an attention mask
	time         bool // it takes times
}

// kind is what a port must look like.
type kind struct {
	types []string
	rank  int
	about string
}

var (
	integers = []string{"INT64", "INT32"}
	floats   = []string{"FP32"}

	knownInputs = map[string]kind{
		inputIDs: {integers, 2, "INT64 [B, L]"}, attentionMask: {integers, 2, "INT64 [B, L]"}, tokenTypeIDs: {integers, 2, "INT64 [B, L]"},
		positionIDs: {integers, 2, "INT64 [B, L]"}, timesteps: {floats, 1, "FP32 [B]"}, temperature: {floats, 1, "FP32 [B]"}, uniform: {floats, 2, "FP32 [B, L]"},
	}
	knownOutputs = map[string]kind{
		logits: {floats, 3, "FP32 [B, L, V]"}, insertionRate: {floats, 2, "FP32 [B, L+1]"}, unmaskRate: {floats, 2, "FP32 [B, L]"}, proposal: {integers, 2, "INT64 [B, L]"},
		logpProposal: {floats, 2, "FP32 [B, L]"}, p1: {floats, 2, "FP32 [B, L]"}, p2: {floats, 2, "FP32 [B, L]"}, entropy: {floats, 2, "FP32 [B, L]"}, logpCurrent: {floats, 2, "FP32 [B, L]"},
	}
)

// findPorts holds what a server says of its model against the model here. The error is what differs.
func findPorts(s *signature, m *Model, head string) (*ports, error) {
	p := &ports{signature: *s}
	if len(s.inputs) == 0 || len(s.outputs) == 0 {
		return nil, fmt.Errorf("its metadata names no %s; write inputs and outputs into the model's settings on the server", map[bool]string{true: "inputs", false: "outputs"}[len(s.inputs) == 0])
	}
	for _, in := range s.inputs {
		k, ok := knownInputs[in.name]
		if !ok {
			return nil, fmt.Errorf("it takes an input %s (%s) that the runtime cannot fill, expected some of %s; serve an export of mdmhost", in.name, in, names(knownInputs))
		}
		if err := p.fits("input", in, k); err != nil {
			return nil, err
		}
		if err := p.fix(in); err != nil {
			return nil, err
		}
	}
	for _, out := range s.outputs {
		k, ok := knownOutputs[out.name]
		if !ok {
			continue // nobody asks for it
		}
		if err := p.fits("output", out, k); err != nil {
			return nil, err
		}
		if width := out.shape; out.name == logits && width[2] >= 0 && width[2] != int64(m.V) {
			return nil, fmt.Errorf("its logits are %d wide and the model's %d; it is another model than this one", width[2], m.V)
		}
	}
	p.attention, p.time = p.takes(attentionMask), p.takes(timesteps)
	what := func(is bool) string { return map[bool]string{true: "takes", false: "lacks"}[is] }
	switch {
	case !p.takes(inputIDs):
		return nil, fmt.Errorf("it lacks the input %s, found %s; serve an export of mdmhost", inputIDs, list(s.inputs))
	case p.time != m.Timesteps:
		return nil, fmt.Errorf("it %s the input %s, which this model %s; it is another model than this one", what(p.time), timesteps, what(m.Timesteps))
	case !m.AttentionMask && p.attention:
		return nil, fmt.Errorf("it takes the input %s, which this model lacks; it is another model than this one", attentionMask)
	case m.InsertionRate && !p.has(insertionRate), m.UnmaskRate && !p.has(unmaskRate):
		return nil, fmt.Errorf("it lacks rates (%s, %s) that this model gives, found %s; it is another model than this one", insertionRate, unmaskRate, list(s.outputs))
	case m.Length > 0 && p.length > m.Length:
		return nil, fmt.Errorf("it takes rows of %d positions and this model at most %d; it is another model than this one", p.length, m.Length)
	}
	return p, p.checkHead(head)
}

// checkHead refuses a graph that the statistics cannot be had from.
func (p *ports) checkHead(head string) error {
	switch {
	case head == HeadGo && !p.has(logits):
		return fmt.Errorf("it lacks the output %s (FP32 [B, L, V]) that runtime.head=go reads, found %s; serve it, or use runtime.head=served", logits, list(p.outputs))
	case head == HeadServed && !p.hasHead():
		return fmt.Errorf("it has no statistics head (inputs %s and %s, output %s), found %s giving %s; serve `mdmhost export --to onnx --head statistics`, or set runtime.head=go to fetch logits",
			temperature, uniform, proposal, list(p.inputs), list(p.outputs))
	case !p.hasHead() && !p.has(logits):
		return fmt.Errorf("it has no statistics head (inputs %s and %s, output %s) and no output %s to compute statistics from, found %s giving %s; serve `mdmhost export --to onnx --head statistics`",
			temperature, uniform, proposal, logits, list(p.inputs), list(p.outputs))
	}
	return nil
}

// hasHead tells whether the graph has a statistics head.
func (p *ports) hasHead() bool { return p.takes(temperature) && p.takes(uniform) && p.has(proposal) }

// fits holds one port against what it must look like. A number a row, [B], may come as [B, 1]: Triton has no other word for it in batches.
func (p *ports) fits(what string, one port, k kind) error {
	column := k.rank == 1 && len(one.shape) == 2 && one.shape[1] == 1
	if !slices.Contains(k.types, one.datatype) || len(one.shape) != k.rank && !column {
		return fmt.Errorf("its %s %s is %s, expected %s; serve an export of mdmhost, and let the server's settings say what the graph has", what, one.name, one, k.about)
	}
	return nil
}

// fix notes sizes that the export fixed.
func (p *ports) fix(in port) error {
	for i, size := range in.shape[:min(len(in.shape), knownInputs[in.name].rank)] {
		to := &p.rows
		if i > 0 {
			to = &p.length
		}
		switch {
		case size < 0:
		case size == 0 || size > 1<<24 || *to != 0 && *to != int(size):
			return fmt.Errorf("its input %s is %s, which does not fit the others; let the server's settings say what the graph has", in.name, in)
		default:
			*to = int(size)
		}
	}
	return nil
}

// takes tells whether the graph has the input, has whether it has the output.
func (p *ports) takes(name string) bool { return find(p.inputs, name) != nil }
func (p *ports) has(name string) bool   { return find(p.outputs, name) != nil }

func find(in []port, name string) *port {
	if i := slices.IndexFunc(in, func(p port) bool { return p.name == name }); i >= 0 {
		return &in[i]
	}
	return nil
}

// same tells whether two servers have the same graph.
func (p *ports) same(o *ports) bool {
	equal := func(a, b port) bool {
		return a.name == b.name && a.datatype == b.datatype && slices.Equal(a.shape, b.shape)
	}
	order := func(in []port) []port {
		in = slices.Clone(in)
		slices.SortFunc(in, func(a, b port) int { return strings.Compare(a.name, b.name) })
		return in
	}
	return slices.EqualFunc(order(p.inputs), order(o.inputs), equal) && slices.EqualFunc(order(p.outputs), order(o.outputs), equal)
}

func list(in []port) string {
	var out []string
	for _, p := range in {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

func names(of map[string]kind) string {
	var out []string
	for name := range of {
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
