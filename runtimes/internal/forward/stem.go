package forward

import (
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// stem stands between the model's logits and the head. It holds every row once, or once with its prompt and once without it
// (guidance), each by itself or followed by its shadow (leave-one-out), and gives the head the logits of the rows alone.
// What a run does without leaves no node.
type stem struct {
	*Ports
	guidance float32 // w; 0 is off
	shift    bool    // row i of the logits is for position i+1
	shadows  bool
	suppress []int32
	v        int
}

// Values that the stem adds to the graph.
const (
	guided      = "mdm/guided"             // float32 [B, L, V] logits as the head has them
	plainTokens = "mdm/tokens"             // int64 [B, L] tokens as the head has them
	outAlone    = "mdm/logp_leave_one_out" // float32 [B, L]
)

// stemOpset is the first opset whose operators the stem is written with.
const stemOpset = 13

// newStem refuses what the model cannot run in this way.
func newStem(decoded *graph.Model, m *Model, ports *Ports, spec *sampling.Head) (*stem, error) {
	s := &stem{Ports: ports, guidance: spec.Guidance, shift: m.LogitsShift != 0, shadows: spec.Needs.LogpLeaveOneOut, suppress: spec.Suppress, v: m.V}
	refuse := func(format string, args ...any) (*stem, error) {
		return nil, fmt.Errorf("model %s: "+format, append([]any{m.Name}, args...)...)
	}
	switch w := float64(s.guidance); {
	case math.IsNaN(w) || math.IsInf(w, 0):
		return refuse("guidance of %v; expected a number, 0 for none", w)
	case w != 0 && s.Rows == 1:
		return refuse("guidance runs each row twice side by side, and the model was exported for 1 row; set sampling.cfg_scale to 0, or export the model anew with any number of rows")
	case (w != 0 || s.shadows) && (spec.Needs.InsertionRate || spec.Needs.UnmaskRate):
		return refuse("guidance and leave-one-out probabilities go with rows of fixed length, and this model's rows grow; set sampling.cfg_scale to 0, or choose another planner")
	case s.works() && decoded.Opset("") < stemOpset:
		return refuse("guidance, logits_shift and leave-one-out probabilities need opset %d or newer, the model has %d; export it anew", stemOpset, decoded.Opset(""))
	}
	if why := s.noShadows(s.shift); s.shadows && why != "" {
		return refuse("needs logp_leave_one_out: %s; or choose another planner", why)
	}
	return s, nil
}

// noShadows says why a model cannot be asked what it thinks of a position that does not see itself, or is empty.
func (p *Ports) noShadows(shift bool) string {
	switch {
	case !p.bias || !p.positions:
		return "that takes the inputs attention_bias float32 [B, 1, L, L], added to the attention scores, and position_ids int64 [B, L]; export it with both"
	case p.Length > 0:
		return fmt.Sprintf("that takes rows of twice the length, and it was exported for %d positions; export it with any length", p.Length)
	case shift:
		return "its logits are shifted (logits_shift): what a position is told comes from the one before, which sees it"
	}
	return ""
}

// works tells whether the stem changes anything but types.
func (s *stem) works() bool { return s.guidance != 0 || s.shift || s.shadows }

// passes is how many rows of the model a row takes, copies how often its length.
func (s *stem) passes() int { return oneOrTwo(s.guidance != 0) }
func (s *stem) copies() int { return oneOrTwo(s.shadows) }

func oneOrTwo(two bool) int {
	if two {
		return 2
	}
	return 1
}

// batchRows is the most rows of a batch, or 0 where the model sets no limit.
func (s *stem) batchRows() int { return s.Rows / s.passes() }

// append writes the stem behind the model and returns the names of the logits, float32 [B, L, V], and the tokens, int64 [B, L].
func (s *stem) append(f, m *graph.Model) (logits, tokens string) {
	ids := s.inputs[slices.IndexFunc(s.inputs, func(p port) bool { return p.name == "input_ids" })]
	if !s.works() {
		return s.casts(f.Graph, ids)
	}
	n := &graph.Node{Name: "mdm/Stem", Domain: "mdm", Op: "Stem", Inputs: []string{s.logits, ids.name}, Outputs: []string{guided, plainTokens}}
	f.Graph.Outputs = append(f.Graph.Outputs, value(guided, graph.Float32, "B", "L", "V"))
	if s.shadows {
		n.Outputs = append(n.Outputs, outAlone)
		f.Graph.Outputs = append(f.Graph.Outputs, value(outAlone, graph.Float32, "B", "L"))
	}
	f.Graph.Nodes = append(f.Graph.Nodes, n)
	f.Opsets, f.Functions = []graph.Opset{{Domain: "mdm", Version: 1}}, append(f.Functions, s.function(m.Opset("")))
	if m.IRVersion < 8 { // the first with functions; the last value of a field counts
		f.IRVersion = 8
	}
	return guided, plainTokens
}

// casts is a stem that changes types alone, where they are not the head's.
func (s *stem) casts(g *graph.Graph, ids port) (logits, tokens string) {
	cast := func(from, to string, typ graph.Type) string {
		g.Nodes = append(g.Nodes, &graph.Node{Name: to + "/Cast", Op: "Cast", Inputs: []string{from}, Outputs: []string{to}, Attributes: []*graph.Attribute{graph.Int("to", int64(typ))}})
		return to
	}
	if logits = s.logits; s.logitType != graph.Float32 {
		logits = cast(s.logits, logits32, graph.Float32)
		g.Outputs = append(g.Outputs, value(logits32, graph.Float32, "B", "L", "V"))
	}
	if tokens = ids.name; ids.typ != graph.Int64 {
		tokens = cast(ids.name, plainTokens, graph.Int64)
	}
	return logits, tokens
}

// function writes the stem with stock operators.
func (s *stem) function(opset int64) *graph.Function {
	b := &body{opset: opset}
	x, tokens := b.cast("logits", graph.Float32), b.cast("tokens", graph.Int64)
	slice := func(x, from, to string, axis int64) string { return b.op("Slice", x, from, to, b.ints(axis)) }
	halves := func(axis int64) (begin, half, all string) { // of the tokens; an odd row at the end is in neither
		half = b.op("Div", slice(b.op("Shape", tokens), b.ints(axis), b.ints(axis+1), 0), b.ints(2))
		return b.ints(0), half, b.op("Mul", half, b.ints(2))
	}
	if s.guidance != 0 {
		// LLaDA's form: un + (w+1) (cond - un). Where both agree, -Inf included, it is what they agree on, exactly.
		begin, half, all := halves(0)
		cond, un := slice(x, begin, half, 0), slice(x, half, all, 0) // [B, L, V]
		x = b.op("Add", un, b.op("Mul", b.op("Sub", cond, un), b.float(float64(s.guidance)+1)))
		x = b.op("Where", b.op("Equal", cond, un), un, x)
		tokens = slice(tokens, begin, half, 0)
	}
	if s.shadows {
		begin, half, all := halves(1)
		shadows := slice(x, half, all, 1) // [B, L, V]
		x, tokens = slice(x, begin, half, 1), slice(tokens, begin, half, 1)
		s.alone(b, shadows, tokens)
	}
	if s.shift {
		x = b.attr("Concat", []*graph.Attribute{graph.Int("axis", 1)}, slice(x, b.ints(0), b.ints(1), 1), slice(x, b.ints(0), b.ints(-1), 1))
	}
	b.output("Identity", "out", nil, x)
	b.output("Identity", "out_tokens", nil, tokens)
	f := &graph.Function{Domain: "mdm", Name: "Stem", Inputs: []string{"logits", "tokens"}, Outputs: []string{"out", "out_tokens"}, Opsets: []graph.Opset{{Version: opset}}}
	if s.shadows {
		f.Outputs = append(f.Outputs, "alone")
	}
	f.Nodes = b.nodes
	return f
}

// alone writes the log-probabilities [B, L] that the shadows' logits [B, L, V] give to the tokens [B, L] of the rows; 0 at masks and
// other suppressed tokens.
func (s *stem) alone(b *body, shadows, tokens string) {
	forbidden := make([]byte, s.v)
	for _, id := range s.suppress {
		if id >= 0 && int(id) < s.v {
			forbidden[id] = 1
		}
	}
	suppressed := b.constant(&graph.Tensor{Type: graph.Bool, Dims: []int64{int64(s.v)}, Raw: forbidden})
	logp := b.attr("LogSoftmax", []*graph.Attribute{graph.Int("axis", 2)}, b.op("Where", suppressed, b.float(math.Inf(-1)), shadows))
	token := b.op("Unsqueeze", tokens, b.ints(2)) // [B, L, 1]
	held := b.op("Where", b.op("Gather", suppressed, token), b.float(0), b.at(logp, token))
	b.output("Squeeze", "alone", nil, held, b.ints(2))
}
