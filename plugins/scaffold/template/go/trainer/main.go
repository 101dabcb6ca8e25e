// Command my-trainer is a trainer of masked diffusion models: it writes the loss that a training step minimises. As it stands,
// that is MD4's bound on the likelihood with a polynomial schedule. Change it to what you have in mind.
package main

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options are what a user may set, here as trainer.power. The host knows them from the tags: it checks what it is given before
// the run, and `mdmhost plugin info ./my-trainer` shows them.
type Options struct {
	Power float64 `option:"power" default:"1" min:"0.2" max:"5" help:"tokens are masked with probability t^power: above 1 fewer at a time"`
}

// Define is called once a run. It may refuse the task with an error. The evaluation is left out: the kit's is the bound of a
// masked denoiser, which is what this trainer makes, so that runs of different trainers can be compared.
func Define(o Options, _ spec.Task) (trainer.Definition, error) {
	return trainer.Definition{
		Summary: fmt.Sprintf("MD4, tokens masked with probability t^%v", o.Power),
		Loss:    func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return Loss(g, in, o) },
	}, nil
}

// Loss writes the graph of a training step, once, for every batch B and length L; the host differentiates it. g writes
// operators, in hands out what the host fills in each step: data, noise and the network.
func Loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	t := in.Time(trainer.SharedOffset, 1e-3)                         // [B, 1]
	u := g.Pow(t, g.Float(o.Power))                                  // [B, 1], probability of a mask
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), u)) // [B, L], never a given or padded position
	noised := g.Select(masked, in.MaskID(), in.Tokens())             // [B, L]

	// A network that takes the time is told which part is masked.
	out := in.Network("denoiser", trainer.IDs(noised).At(u))
	nll := g.Keep(masked, g.CrossEntropy(out["logits"], in.Tokens())) // [B, L], nats; 0 where nothing is masked

	// The weight (du/dt) / u = power / t makes the mean a bound on -log p (MD4, equation 5).
	bound := g.RowSum(g.Div(g.Mul(g.Float(o.Power), nll), t)) // [B]
	masks := g.RowSum(g.Cast(masked, graph.Float32))          // [B]
	return trainer.PerToken(bound, in.FreeCount()).
		Metric("nll", bound, in.FreeCount()).
		Metric("ce", g.RowSum(nll), masks)
}

// New is the trainer, for main and for the tests.
func New() spec.Trainer {
	return sdk.NewTrainer("my-trainer", Define, sdk.Version("0.1.0"), sdk.Summary("MD4 with a polynomial schedule"))
}

func main() { sdk.ServeTrainerValue(New()) }
