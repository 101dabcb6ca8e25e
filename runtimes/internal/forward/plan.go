// Package forward is what runtimes of ONNX graphs share: what a model takes and gives, the stem and the statistics head that are
// appended to it, and the tensors of a pass of any size. A runtime adds the session that runs them:
//
//	ports, err := forward.FindPorts(decoded, &model)
//	plan, appended, err := forward.NewPlan(decoded, &model, ports, head, forward.Options{...})
//	// a session of the model's bytes followed by appended, from plan.Inputs to plan.Outputs
//	pass, err := plan.Pass(2, 16) // fill pass.Batch
//	err = pass.Feed()             // then run the session on pass.In and pass.Out
//	statistics, err := pass.Fetch()
package forward

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// Head modes.
const (
	HeadFused = "fused" // a C kernel inside the session: ONNX Runtime on the CPU
	HeadGraph = "graph" // stock ONNX operators: every runtime and device
	HeadGo    = "go"    // logits come out and sampling.Compute does the rest
)

// HeadOpset is the first opset whose operators the head of [HeadGraph] is written with.
const HeadOpset = 17

// Options are what a runtime decides about a plan.
type Options struct {
	Runtime string // for messages, such as "onnx (provider cpu)"
	Mode    string // HeadFused, HeadGraph or HeadGo

	// LogitsMemory gives the memory for Statistics.Logits: at least so many bytes, which stay valid until the next call or Free.
	// nil takes the plan's own.
	LogitsMemory func(bytes int) ([]float32, error)

	// Host gives the memory of the tensors that cross between host and session; nil is ordinary memory. Place is where the session
	// computes, and what the head keeps between passes stays; nil is the host.
	Host  offheap.Allocator
	Place Place

	// Turns says that the session heeds Pass.Turn. Else what passes keep is copied once more.
	Turns bool

	// Bind makes what the session needs to run a pass, in Pass.Values. It returns how to undo that, with an error, too.
	Bind func(*Pass) (free func(), err error)
}

// Plan is a model with what a run adds to it, and the memory of its passes. It is for one goroutine at a time.
type Plan struct {
	Inputs  []string // names of the values that the session takes, those of Pass.In
	Outputs []string // names of the values that it gives, those of Pass.Out

	options Options
	model   *Model
	ports   *Ports
	stem    *stem
	head    *head
	passes  passes
}

// NewPlan settles what a run needs of the model, and refuses by name what the model cannot give. It returns what has to follow
// the model's bytes, too.
func NewPlan(decoded *graph.Model, m *Model, ports *Ports, spec sampling.Head, o Options) (*Plan, []byte, error) {
	if err := checkNeeds(o.Runtime, m, ports, &spec.Needs); err != nil {
		return nil, nil, err
	}
	stem, err := newStem(decoded, m, ports, &spec)
	if err != nil {
		return nil, nil, err
	}
	h := newHead(spec, o.Mode)
	fragment, logits := h.fragment(decoded, stem)
	if spec.Needs.Logits || h.mode == HeadGo {
		h.outputs = append(h.outputs, logits)
	}
	if stem.shadows {
		h.outputs = append(h.outputs, outAlone)
	}
	h.outputs = append(h.outputs, ports.askRates(fragment.Graph, &spec.Needs)...)
	p := &Plan{options: o, model: m, ports: ports, stem: stem, head: h, Outputs: h.outputs}
	p.passes.gumbelMemory.From, p.passes.logitsMemory.From = o.Host, o.Host
	if p.passes.memory.at, p.passes.memory.turns = o.Place, o.Turns; o.Place == nil {
		p.passes.memory.at = offheap.Host{}
	}
	for _, in := range ports.inputs {
		p.Inputs = append(p.Inputs, in.name)
	}
	p.Inputs = append(p.Inputs, h.inputs...)
	return p, fragment.Encode(), nil
}

// MaxRows is the most rows of a batch, or 0 where the model sets no limit.
func (p *Plan) MaxRows() int { return p.stem.batchRows() }

// Pass returns the pass of b rows x l positions, ready to be filled; equal sizes return the same memory.
func (p *Plan) Pass(b, l int) (*Pass, error) {
	refuse := func(format string, args ...any) (*Pass, error) {
		return nil, fmt.Errorf("model %s: "+format, append([]any{p.model.Name}, args...)...)
	}
	fixed := p.ports
	switch {
	case b < 1 || l < 1 || b > math.MaxInt32/l:
		return refuse("a batch of %d rows x %d positions; give at least 1 of each, and fewer than 2^31 together", b, l)
	case fixed.Rows > 0 && b > p.stem.batchRows():
		most, why := p.stem.batchRows(), ""
		if p.stem.passes() > 1 {
			why = ", which guidance takes two by two"
		}
		return refuse("a batch of %d rows, and the model was exported for %d%s; use --batch %d", b, fixed.Rows, why, most)
	case fixed.Length > 0 && l > fixed.Length:
		return refuse("a row of %d positions, and the model was exported for %d; shorten the row", l, fixed.Length)
	case fixed.Length > 0 && l < fixed.Length && !fixed.pads():
		return refuse("a row of %d positions, and the model takes exactly %d because it has no attention_mask; fill the row, or export the model anew with a mask", l, fixed.Length)
	}
	pass, err := p.passes.get(p, b, l)
	if err != nil {
		return refuse("a batch of %d rows x %d positions: %w", b, l, err)
	}
	return pass, nil
}

// Current is the pass that was handed out last, or nil.
func (p *Plan) Current() *Pass { return p.passes.current }

// WarmUp fills a short pass with sound input, for a first run.
func (p *Plan) WarmUp() (*Pass, error) {
	l := 8
	if p.ports.Length > 0 {
		l = p.ports.Length
	}
	pass, err := p.Pass(1, l)
	if err != nil {
		return nil, err
	}
	for i := range pass.Batch.Tokens {
		pass.Batch.Tokens[i], pass.Batch.Attention[i], pass.Batch.Active[i] = int64(p.model.PadID), 1, 1
	}
	pass.Batch.Params[0].TopP = 1
	return pass, nil
}

// Free gives the memory of all passes back.
func (p *Plan) Free() { p.passes.free() }
