// Command focal-trainer is a complete trainer plugin for mdmhost: MD4 with the linear schedule, whose cross-entropy is weighted
// by (1 - p)^gamma as in focal loss (Lin et al. 2017), p being the probability of the true token. Tokens that the model
// knows already count less.
package main

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options are what a user may set, as trainer.gamma and trainer.detach.
type Options struct {
	Gamma  float64 `option:"gamma" default:"2" min:"0" max:"10" help:"how much less a known token counts; 0 is MD4"`
	Detach bool    `option:"detach" default:"false" help:"no gradient through the weight (1 - p)^gamma"`
}

// Define is called once per run. The evaluation is left out: the kit's is the bound of a masked denoiser, which is what this
// one is, too, however it was trained.
func Define(o Options, _ spec.Task) (trainer.Definition, error) {
	return trainer.Definition{
		Summary: fmt.Sprintf("focal MD4, gamma %v", o.Gamma),
		Loss:    func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return Loss(g, in, o) },
	}, nil
}

// Loss writes the training graph.
func Loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	t := in.Time(trainer.SharedOffset, 1e-4)                         // [B, 1]
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L], never a fixed or padded position
	noised := g.Select(masked, in.MaskID(), in.Tokens())             // [B, L]
	out := in.Network("denoiser", trainer.IDs(noised).At(t))         // a network without time is not told
	nll := g.Keep(masked, g.CrossEntropy(out["logits"], in.Tokens()))

	// A masked token that is certain makes (1-p) 0, where a power has no slope: the floor keeps the gradient a number.
	wrong := g.Max(g.Sub(g.Float(1), g.Exp(g.Neg(nll))), g.Float(1e-6)) // 1 - p, [B, L]
	weight := g.Pow(wrong, g.Float(o.Gamma))
	if o.Detach {
		weight = g.StopGradient(weight)
	}
	row := g.RowSum(g.Div(g.Mul(weight, nll), t)) // [B]
	bound := g.RowSum(g.Div(nll, t))              // [B], nats: what MD4 would minimise
	masks := g.RowSum(g.Cast(masked, graph.Float32))
	return trainer.PerToken(row, in.FreeCount()).
		Metric("nll", bound, in.FreeCount()).
		Metric("weight", g.RowSum(g.Keep(masked, weight)), masks)
}

func main() {
	sdk.ServeTrainerWith("focal", Define, sdk.Version("0.1.0"), sdk.Summary("MD4 with a focal weight: known tokens count less"))
}
