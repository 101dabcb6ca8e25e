// Package p2planner is the trainer of planners for P2 (path planning for masked diffusion, algorithm 2): a network that reads a
// full row of proposals and says of each token how likely it is right. Its labels are the frozen denoiser's own errors.
package p2planner

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options of the trainer.
type Options struct {
	Head        string  `option:"head" default:"binary" enum:"binary,vocabulary" help:"binary: a new network (settings network.*) that gives one number a position; vocabulary: a masked language model, a copy of the denoiser or that of train.planner_from, whose probability of the token counts"`
	MaskPattern bool    `option:"mask_pattern" default:"true" help:"binary: tell the planner which tokens stand for masks"`
	Temperature float64 `option:"temperature" default:"1" min:"0" help:"of the denoiser's proposals; 0 takes the likeliest token"`
	Mix         float64 `option:"mix" default:"0.5" min:"0" max:"1" help:"chance that an unmasked position keeps its token instead of a new draw; at 1 the unmasked labels are all true"`
	Masker      string  `option:"masker" default:"count" enum:"count,bernoulli" help:"count: a uniform number of masks; bernoulli: each token by itself at a random ratio"`
	Times       string  `option:"times" default:"shared_offset" enum:"iid,shared_offset,stratified" help:"how the rows of a batch share their counts or ratios"`
}

// Planner is the name of the network that is trained.
const Planner = "planner"

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("p2planner", define, sdk.Version("0.1.0"), sdk.Summary("a planner for P2: how likely each token of a row is right, learned from the frozen denoiser's errors"))
}

func define(o Options, task spec.Task) (trainer.Definition, error) {
	pattern := ""
	if o.Head == "binary" && o.MaskPattern {
		pattern = " that sees the masks"
	}
	return trainer.Definition{
		Loss:     func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o) },
		Eval:     func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return eval(g, in, o) },
		Bound:    spec.Estimate,
		Networks: []spec.Network{{Name: spec.Denoiser, Frozen: true}, planner(o, &task)},
		Summary:  fmt.Sprintf("P2 planner, head %s%s, temperature %v, mix %v, masker %s", o.Head, pattern, o.Temperature, o.Mix, o.Masker),
	}, nil
}

// planner is the network that is trained. Neither kind is told the time: a sampler has full rows and no time for them.
func planner(o Options, task *spec.Task) spec.Network {
	if o.Head == "vocabulary" {
		s := task.Denoiser
		s.Inputs = slices.DeleteFunc(slices.Clone(s.Inputs), func(p graph.Port) bool { return p.Name == "timesteps" })
		return spec.Network{Name: Planner, Signature: s, Init: spec.Denoiser}
	}
	row := []graph.Dim{task.RowsDim(), task.LengthDim()}
	s := graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: row}, {Name: "attention_mask", Type: graph.Int64, Shape: row}},
		Outputs: []graph.Port{{Name: "keep", Type: graph.Float32, Shape: row}},
	}
	if o.MaskPattern {
		s.Inputs = append(s.Inputs, graph.Port{Name: "masked", Type: graph.Int64, Shape: row})
	}
	return spec.Network{Name: Planner, Signature: s, Init: spec.Fresh}
}

// loss is the mean over rows of sum_i w BCE_i over the free positions, w = 1/#masked (the weight b_t by counts). Rows without
// masks, at which sampling is over, do not count.
func loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	r := propose(g, in, o, diffusion.TimeSampler(o.Times))
	v := judge(g, in, o, r)
	w := g.Div(g.Min(r.k, g.Float(1)), g.Max(r.k, g.Float(1))) // [B]
	l := trainer.PerRow(g.Mul(w, v.sum(in.Free())))
	for _, m := range v.metrics(in.Free()) {
		l = l.Metric(m.name, m.sum, m.count)
	}
	return l
}

// eval is the cross-entropy of a row's verdicts in nats, each position alike: a sample, for the masks and the proposals are drawn.
// Times are independent: those that are stratified over all rows would give a pass rows of about as many masks each, and the
// constant predictor of a pass would know how many.
func eval(g *graph.Builder, in trainer.Inputs, o Options) trainer.Bound {
	v := judge(g, in, o, propose(g, in, o, trainer.IID))
	b := trainer.RowBound(v.sum(in.Free()), in.FreeCount())
	for _, m := range v.metrics(in.Free()) {
		b = b.Metric(m.name, m.sum, m.count)
	}
	return b
}
