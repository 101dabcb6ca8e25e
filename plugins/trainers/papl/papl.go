// Package papl is the trainer of planner-aware path learning: the masked cross-entropy, weighted towards the positions that a
// soft-greedy planner with the denoiser's own confidence would open next (the paper's algorithm 1 and equation 7).
package papl

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options of the trainer.
type Options struct {
	Form   string  `option:"form" default:"paper" enum:"paper,pelbo,open_dllm" help:"paper: (1/n)(1 + alpha w), equation 7; pelbo: 1/n + alpha w; open_dllm: the authors' code for code generation"`
	Alpha  float64 `option:"alpha" default:"1" min:"0" help:"strength of the planner's weight; 0 is the plain loss"`
	Tau    float64 `option:"tau" default:"1" min:"0" help:"the planner's temperature: 0 is greedy, inf uniform; open_dllm does not use it"`
	Masker string  `option:"masker" default:"auto" enum:"auto,count,bernoulli" help:"count: a uniform number of masks; bernoulli: each token by itself at a random ratio; auto: count, and bernoulli for open_dllm, as its authors do"`
	WarmUp float64 `option:"alpha_warmup" default:"0" min:"0" max:"1" help:"part of the run in which alpha grows from 0, for the planner of a new model knows nothing"`
	Times  string  `option:"times" default:"shared_offset" enum:"iid,shared_offset,stratified" help:"how the rows of a batch share their counts or ratios"`
}

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("papl", define, sdk.Version("0.1.0"), sdk.Summary("masked cross-entropy weighted by the denoiser's own plan"))
}

func define(o Options, _ spec.Task) (trainer.Definition, error) {
	if err := (diffusion.PAPL{Form: diffusion.Form(o.Form), Alpha: o.Alpha, Tau: o.Tau}).Check(); err != nil {
		return trainer.Definition{}, err
	}
	if o.Masker == "auto" {
		o.Masker = "count"
		if o.Form == string(diffusion.OpenDLLM) {
			o.Masker = "bernoulli"
		}
	}
	return trainer.Definition{
		Loss:    func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o) },
		Summary: fmt.Sprintf("PAPL, form %s, alpha %v, tau %v, masker %s", o.Form, o.Alpha, o.Tau, o.Masker),
	}, nil
}

// corruption is which free positions are masked.
type corruption struct {
	masked graph.Value // bool [B, L]
	ratio  graph.Value // float32 [B, 1]: chance of a mask, or the part that is masked
	weight graph.Value // float32 [B]: times the masked cross-entropy it is a sample of the bound
	k      graph.Value // float32 [B]: masks
}

// ends keeps ratios away from 0 and 1, as in the authors' code.
const ends = 1.0 / 500

func corrupt(g *graph.Builder, in trainer.Inputs, o Options) corruption {
	if o.Masker == "count" {
		c := trainer.ExactCount(g, in, in.Time(diffusion.TimeSampler(o.Times), 0))
		return corruption{masked: c.Masked, ratio: c.Fraction(g), weight: c.Weight(g), k: c.K}
	}
	r := in.Time(diffusion.TimeSampler(o.Times), ends)
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), r))
	return corruption{masked: masked, ratio: r, weight: g.Reciprocal(g.Squeeze(r, 1)), k: g.RowSum(g.Cast(masked, graph.Float32))}
}

// loss is the mean over rows of sum_i coef_i nll_i; open_dllm divides by the masks of the whole batch instead. The weights are
// constants for the gradient, which is coef (softmax - onehot).
func loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	c := corrupt(g, in, o)
	noised := g.Select(c.masked, in.MaskID(), in.Tokens())
	logits := in.Network("denoiser", trainer.IDs(noised).At(c.ratio))["logits"]
	nll := g.Keep(c.masked, g.CrossEntropy(logits, in.Tokens())) // [B, L], nats
	planner := newPlan(g, c, g.StopGradient(nll), o)

	var l trainer.Loss
	coef := planner.coefficients(g, in, c, o) // [B, L]
	row := g.RowSum(g.Mul(coef, nll))         // [B]
	if o.Form == string(diffusion.OpenDLLM) {
		l = trainer.PerToken(row, c.k)
	} else {
		l = trainer.PerRow(row)
	}
	ce := g.RowSum(nll)
	l = l.Metric("nll", g.Mul(c.weight, ce), in.FreeCount()).Metric("ce", ce, c.k)
	return planner.metrics(g, c, l)
}
