package forward

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// What [WithStatistics] adds to a model, with names that every host can write in its own language.
const (
	Temperature = "temperature" // input float32 [B]: 0 takes the most probable token
	Uniform     = "uniform"     // input float32 [B, L] in (0, 1): where the draw falls in the order of the ids, read where temperature is above 0

	Proposal     = "proposal"      // output int64 [B, L]: the token drawn; below 0 where the logits are no distribution
	LogpProposal = "logp_proposal" // output float32 [B, L], in nats, as are all logarithms
	P1           = "p1"            // output float32 [B, L]: the largest probability
	P2           = "p2"            // output float32 [B, L]: the second largest
	Entropy      = "entropy"       // output float32 [B, L]
	LogpCurrent  = "logp_current"  // output float32 [B, L]: of the token that stands at the position; 0 at suppressed ones
)

// WithStatistics returns the model with a statistics head written with stock operators, for hosts that have none: the head of
// [HeadGraph], opened to them. Statistics are of the model's distribution after suppression, as [sampling.Compute] has them; the draw is by
// the inverse of the distribution function at the temperature. The model's own inputs and outputs stay, and m does too. m.Graph must
// hold its data itself. The error names what the head cannot stand on.
func WithStatistics(m *graph.Model, name string, v, logitsShift int, suppress []int32) (*graph.Model, error) {
	failed := func(err error) (*graph.Model, error) {
		return nil, fmt.Errorf("model %s: head statistics: %w", name, err)
	}
	if opset := m.Opset(""); opset < HeadOpset {
		return failed(fmt.Errorf("needs opset %d or newer, the model has %d; export it anew, or without the head", HeadOpset, opset))
	}
	p, err := FindPorts(m, &Model{Name: name, V: v})
	if err != nil {
		return failed(err)
	}
	for _, in := range p.inputs {
		if in.name == Temperature || in.name == Uniform {
			return failed(fmt.Errorf("the model has an input %s, so it has the head already; take the model that it was made from", in.name))
		}
	}
	ids := m.Graph.Inputs[slices.IndexFunc(m.Graph.Inputs, func(i *graph.ValueInfo) bool { return i.Name == "input_ids" })]
	if !ids.HasRank || len(ids.Shape) != 2 {
		return failed(errors.New("the shape of input_ids is not known, expected [B, L]; export the model with it"))
	}
	out, g := *m, *m.Graph
	out.Graph, out.IRVersion = &g, max(m.IRVersion, 8) // the first with functions
	if out.Opsets = slices.Clone(m.Opsets); m.Opset("mdm") == 0 {
		out.Opsets = append(out.Opsets, graph.Opset{Domain: "mdm", Version: 1})
	}
	g.Inputs = append(slices.Clone(g.Inputs), &graph.ValueInfo{Name: Temperature, Type: graph.Float32, HasRank: true, Shape: ids.Shape[:1]},
		&graph.ValueInfo{Name: Uniform, Type: graph.Float32, HasRank: true, Shape: ids.Shape})
	all := []string{Proposal, LogpProposal, P1, P2, Entropy, LogpCurrent}
	g.Nodes = append(slices.Clone(g.Nodes), &graph.Node{Name: "statistics", Domain: "mdm", Op: "Statistics", Inputs: []string{p.logits, ids.Name, Temperature, Uniform}, Outputs: all})
	g.Outputs = slices.Clone(g.Outputs)
	for _, name := range all {
		o := &graph.ValueInfo{Name: name, Type: graph.Float32, HasRank: true, Shape: ids.Shape}
		if name == Proposal {
			o.Type = graph.Int64
		}
		g.Outputs = append(g.Outputs, o)
	}
	stem := &stem{shift: logitsShift != 0}
	functions := []*graph.Function{statistics(m.Opset(""), v, suppress), stem.function(m.Opset(""))}
	head := opened(suppress)
	functions = append(functions, head.function(m.Opset(""), v, 4))
	out.Functions = append(slices.Clone(m.Functions), functions...)
	written, err := graph.Inline(&out, func(f *graph.Function) bool { return slices.Contains(functions, f) })
	if err != nil {
		return failed(err)
	}
	if err := graph.Check(written); err != nil {
		return failed(err)
	}
	return written, nil
}

// opened is the head whose statistics are given.
func opened(suppress []int32) *head {
	return newHead(sampling.Head{Suppress: suppress, Draw: sampling.DrawInverseCDF, Needs: sampling.Needs{
		Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true}}, HeadGraph)
}

// statistics is the function from logits, ids, temperature and uniform to the outputs: stem and head with names for what they give.
func statistics(opset int64, v int, suppress []int32) *graph.Function {
	b, r := &body{opset: opset}, opened(suppress).rows
	call := func(op string, in, out []string) {
		b.nodes = append(b.nodes, &graph.Node{Name: op, Domain: "mdm", Op: op, Inputs: in, Outputs: out})
	}
	call("Stem", []string{"logits", "ids"}, []string{"plain", "tokens"}) // float32 and int64
	params := b.op("Unsqueeze", Temperature, b.ints(1))                  // [B, 1]: the head reads the first of the parameters alone
	below := b.op("Min", Uniform, b.float(1-0x1p-24))                    // a host's 1, from rounding, would lie behind the last token
	call("StatisticsHead", []string{"plain", "tokens", params, b.cast(below, graph.Float64)}, []string{"all", "drawn"})
	b.output("Cast", Proposal, []*graph.Attribute{graph.Int("to", int64(graph.Int64))}, "drawn")
	f := &graph.Function{Domain: "mdm", Name: "Statistics", Inputs: []string{"logits", "ids", Temperature, Uniform}, Outputs: []string{Proposal},
		Opsets: []graph.Opset{{Version: opset}, {Domain: "mdm", Version: 1}}}
	for _, o := range []struct {
		name string
		row  int
	}{{LogpProposal, r.proposal}, {P1, r.p1}, {P2, r.p2}, {Entropy, r.entropy}, {LogpCurrent, r.current}} {
		b.output("Gather", o.name, []*graph.Attribute{graph.Int("axis", 0)}, "all", b.constant(graph.OfInts("", nil, []int64{int64(o.row)})))
		f.Outputs = append(f.Outputs, o.name)
	}
	f.Nodes = b.nodes
	return f
}
