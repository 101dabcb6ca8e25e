// Package flexmdm is the trainer of FlexMDM (Kim, Lee et al. 2026, "Any-Order Flexible Length Masked Diffusion"): a network that
// starts from the empty row, inserts masks into gaps and turns masks into tokens, in uniformly random order.
package flexmdm

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/interpolant"
)

// Options of the trainer.
type Options struct{ interpolant.Options }

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("flexmdm", define, sdk.Version("0.1.0"),
		sdk.Summary("an insertion model: masks are inserted into gaps and turned into tokens, in random order; its path bound"))
}

func define(o Options, task spec.Task) (trainer.Definition, error) {
	if err := interpolant.CheckDenoiser(&task); err != nil {
		return trainer.Definition{}, err
	}
	return trainer.Definition{
		Loss:     func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o) },
		Eval:     func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return eval(g, in, o) },
		Bound:    spec.PathBound,
		Schedule: o.Schedule(),
		Summary:  fmt.Sprintf("FlexMDM, a %v, normalise %s", o.A, o.Normalise),
	}, nil
}

// sample is one corruption of each row: all speeds are 1.
func sample(g *graph.Builder, in trainer.Inputs, o Options, times diffusion.TimeSampler, eps, stretch float64) (interpolant.Rows, interpolant.Contracted, interpolant.Terms) {
	r := interpolant.Read(g, in, o.A, times, eps, stretch, 1)
	one := g.Float(1)
	c := r.Contract(r.Sample(r.Noise("q_in"), r.Noise("q_um"), one, one), one)
	return r, c, c.Terms(one)
}

func loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	r, c, t := sample(g, in, o, diffusion.TimeSampler(o.Times), o.Eps, o.Stretch)
	l := interpolant.Loss(in, t.Objective(c, o.Normalise), o.Normalise).Metric("nll", t.Total, in.FreeCount())
	for _, m := range t.Metrics(r) {
		l = l.Metric(m.Name, m.Sum, m.Count)
	}
	return l
}

// eval is a sample of the path bound of each row in nats.
func eval(g *graph.Builder, in trainer.Inputs, o Options) trainer.Bound {
	r, _, t := sample(g, in, o, trainer.Stratified, min(o.Eps, interpolant.EvalEps), interpolant.EvalStretch)
	b := trainer.RowBound(t.Total, in.FreeCount())
	for _, m := range t.Metrics(r) {
		b = b.Metric(m.Name, m.Sum, m.Count)
	}
	return b
}
