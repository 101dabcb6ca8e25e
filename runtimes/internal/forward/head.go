package forward

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// The values that the head adds to the graph. The model's own names have no such prefix.
const (
	inActive   = "mdm/active"   // uint8 [B, L]
	inParams   = "mdm/params"   // float32 [B, 4]: temperature, top-k, top-p, min-p
	inUniform  = "mdm/uniform"  // float64 [B, L]
	inGumbel   = "mdm/gumbel"   // float64 [B, L, V]
	outStats   = "mdm/stats"    // float32 [W, B, L]
	outToken   = "mdm/proposal" // int32 [B, L]
	outTopIDs  = "mdm/top_ids"  // int32 [B, L, K]
	outTopLogp = "mdm/top_logp" // float32 [B, L, K]
	logits32   = "mdm/logits"   // the logits where the model's are not float32
)

// head is the statistics head of one session: what goes in and comes out beside the model's own.
type head struct {
	spec    sampling.Head
	mode    string
	inputs  []string
	outputs []string
	rows    rows
}

// rows are the places of the statistics in the packed output [W, B, L]; -1 = absent. The kernel counts the same way.
type rows struct{ p1, p2, entropy, current, proposal, kl, dot, count int }

func layRows(n *sampling.Needs) rows {
	var r rows
	next := func(is bool, n int) int {
		if !is {
			return -1
		}
		r.count += n
		return r.count - n
	}
	r.p1 = next(n.P1, 1)
	r.p2 = next(n.P2, 1)
	r.entropy = next(n.Entropy != sampling.NotNeeded, 1)
	r.current = next(n.LogpCurrent, 1)
	r.proposal = next(n.LogpProposal != sampling.NotNeeded, 1)
	r.kl = next(n.KLPrev, 1)
	r.dot = next(len(n.VocabDot) > 0, len(n.VocabDot))
	return r
}

// checkNeeds refuses, by name, what a runtime cannot compute of the model.
func checkNeeds(runtime string, m *Model, p *Ports, n *sampling.Needs) error {
	refuse := func(name, why string) error {
		return fmt.Errorf("needs %s: runtime %s %s; choose another planner, or other options of it", name, runtime, why)
	}
	switch {
	case n.PlannerScore:
		return refuse("planner_score", "runs one network, the denoiser")
	case n.InsertionRate && p.insertion == graph.Undefined:
		return refuse("insertion_rate", "has a model without that output")
	case n.UnmaskRate && p.unmask == graph.Undefined:
		return refuse("unmask_rate", "has a model without that output")
	case n.FrozenGap && p.insertion == graph.Undefined:
		return refuse("frozen_gap", "has a model whose rows keep their length")
	case n.TopK > m.V:
		return refuse(fmt.Sprintf("topk(%d)", n.TopK), fmt.Sprintf("has %d tokens", m.V))
	case len(n.VocabDot) > maxVocabDots:
		return refuse(fmt.Sprintf("vocab_dot(%d)", len(n.VocabDot)), fmt.Sprintf("takes at most %d vectors", maxVocabDots))
	}
	for _, c := range n.VocabDot {
		if len(c) != m.V {
			return refuse("vocab_dot", fmt.Sprintf("wants %d numbers a vector, one per token, and got %d", m.V, len(c)))
		}
	}
	return nil
}

// newHead lays out the head.
func newHead(spec sampling.Head, mode string) *head {
	if mode != HeadGo && layRows(&spec.Needs).count == 0 {
		spec.Needs.P1 = true // a tensor without rows is nothing that a session returns
	}
	h := &head{spec: spec, mode: mode, rows: layRows(&spec.Needs)}
	switch mode {
	case HeadGo:
		return h
	case HeadFused:
		h.inputs = []string{inActive, inParams, inUniform}
	case HeadGraph:
		if h.inputs = []string{inParams}; spec.Draw == sampling.DrawInverseCDF {
			h.inputs = append(h.inputs, inUniform)
		}
	}
	if spec.Draw == sampling.DrawGumbel {
		h.inputs = append(h.inputs, inGumbel)
	}
	if looks(&spec.Edits) {
		h.inputs = append(h.inputs, inAttention)
	}
	h.outputs = []string{outStats, outToken}
	if spec.Needs.TopK > 0 {
		h.outputs = append(h.outputs, outTopIDs, outTopLogp)
	}
	in, out := h.memoryPorts()
	h.inputs, h.outputs = append(h.inputs, in...), append(h.outputs, out...)
	return h
}

// fragment returns what is appended to the encoded model: the stem, and the head as one node of domain mdm. It returns the
// name of the float32 logits that the head has, too.
func (h *head) fragment(m *graph.Model, s *stem) (*graph.Model, string) {
	f, v := &graph.Model{Graph: &graph.Graph{}}, s.v
	g := f.Graph
	add := func(op string, in, out []string, a ...*graph.Attribute) {
		g.Nodes = append(g.Nodes, &graph.Node{Name: "mdm/" + op, Op: op, Inputs: in, Outputs: out, Attributes: a})
	}
	logits, tokens := s.append(f, m)
	if h.mode == HeadGo {
		return f, logits
	}
	shapes := map[string]*graph.ValueInfo{
		inActive:  value(inActive, graph.Uint8, "B", "L"),
		inParams:  value(inParams, graph.Float32, "B", ""),
		inUniform: value(inUniform, graph.Float64, "B", "L"),
		inGumbel:  value(inGumbel, graph.Float64, "B", "L", "V"),

		inAttention: value(inAttention, graph.Int64, "B", "L"),
		inSlots:     value(inSlots, graph.Int32, "B"),
		inFresh:     value(inFresh, graph.Uint8, "B"),
		inBefore:    value(inBefore, graph.Float32, "B", "L", "V"),
		inCredit:    value(inCredit, graph.Float32, "B", "L", "V"),
		inKnown:     value(inKnown, graph.Uint8, "B", "L"),
	}
	for _, name := range h.inputs {
		g.Inputs = append(g.Inputs, shapes[name])
	}
	for _, name := range h.outputs {
		typ := graph.Float32
		if name == outToken || name == outTopIDs {
			typ = graph.Int32
		}
		g.Outputs = append(g.Outputs, &graph.ValueInfo{Name: name, Type: typ})
	}
	dot := ""
	if c := h.spec.Needs.VocabDot; len(c) > 0 {
		dot = "mdm/dot"
		g.Initializers = append(g.Initializers, graph.OfFloats(dot, []int64{int64(len(c)), int64(v)}, slices.Concat(c...)))
	}
	optional := func(name string) string {
		if slices.Contains(h.inputs, name) {
			return name
		}
		return ""
	}
	f.Opsets = []graph.Opset{{Domain: "mdm", Version: 1}}
	if h.mode == HeadFused {
		add("FusedStatisticsHead", trim(logits, tokens, inActive, inParams, inUniform, optional(inGumbel), dot, optional(inAttention), optional(inSlots), optional(inFresh)),
			h.outputs, h.attributes(v)...)
	} else {
		inputs := trim(logits, tokens, inParams, optional(inUniform), optional(inGumbel), dot, optional(inAttention), optional(inBefore), optional(inCredit), optional(inKnown))
		add("StatisticsHead", inputs, h.outputs)
		f.Functions = append(f.Functions, h.function(m.Opset(""), v, len(inputs)))
		if m.IRVersion < 8 { // the first with functions; the last value of a field counts
			f.IRVersion = 8
		}
	}
	g.Nodes[len(g.Nodes)-1].Domain = "mdm"
	return f, logits
}

// attributes describe the head to the kernel.
func (h *head) attributes(v int) []*graph.Attribute {
	n := &h.spec.Needs
	flag := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	suppress := []int64{}
	for _, id := range h.spec.Suppress {
		suppress = append(suppress, int64(id))
	}
	return append(editAttributes(&h.spec.Edits),
		graph.Int("v", int64(v)), graph.Int("p1", flag(n.P1)), graph.Int("p2", flag(n.P2)), graph.Int("peaks", int64(n.Peaks())), graph.Int("entropy", int64(n.Entropy)),
		graph.Int("logp_current", flag(n.LogpCurrent)), graph.Int("logp_proposal", int64(n.LogpProposal)),
		graph.Int("dots", int64(len(n.VocabDot))), graph.Int("topk", int64(n.TopK)), graph.Int("gumbel", flag(h.spec.Draw == sampling.DrawGumbel)),
		graph.Int("filter", flag(h.spec.Filter)), graph.Ints("suppress", append(suppress, -1)...), // never empty: -1 is no token
		graph.Int("below", flag(h.spec.Below)), graph.Int("kl_prev", flag(n.KLPrev)),
	)
}

// value describes a tensor whose dimensions have names of the head's own; "" is a dimension without one.
func value(name string, typ graph.Type, dims ...string) *graph.ValueInfo {
	v := &graph.ValueInfo{Name: name, Type: typ, HasRank: true}
	for _, d := range dims {
		if d != "" {
			d = "mdm/" + d
		}
		v.Shape = append(v.Shape, graph.Named(d))
	}
	return v
}

// trim drops optional inputs at the end.
func trim(inputs ...string) []string {
	for len(inputs) > 0 && inputs[len(inputs)-1] == "" {
		inputs = inputs[:len(inputs)-1]
	}
	return inputs
}
