// Package md4 is the trainer of MD4 (Shi et al. 2024, "Simplified and Generalized Masked Diffusion for Discrete Data"): the
// cross-entropy of masked tokens, weighted so that its mean is a bound on -log p.
package md4

import (
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options of the trainer.
type Options struct {
	Schedule  string  `option:"schedule" default:"linear" enum:"linear,polynomial,cosine,geometric" help:"masking schedule alpha_t"`
	C         float64 `option:"c" default:"2" min:"0" help:"polynomial: alpha_t = 1 - t^c"`
	BMin      float64 `option:"b_min" default:"1e-5" min:"0" help:"geometric: -log alpha_t at t = 0"`
	BMax      float64 `option:"b_max" default:"20" min:"0" help:"geometric: -log alpha_t at t = 1"`
	Eps       float64 `option:"eps" default:"1e-4" min:"0" max:"0.5" help:"shifts alpha_t into [eps, 1-eps], which bounds the weight at t = 0"`
	Times     string  `option:"times" default:"shared_offset" enum:"iid,shared_offset,stratified" help:"how the rows of a batch share their times"`
	T         int     `option:"t" default:"0" min:"0" help:"steps of the finite-T bound; 0 is continuous time"`
	Estimator string  `option:"estimator" default:"time" enum:"time,count" help:"time: each token masked by chance at a random time; count: a uniform number of masks, less variance"`
	Eval      string  `option:"eval" default:"auto" enum:"auto,time,count" help:"estimator of evaluations; auto: count, unless the network takes the time or t is finite"`
}

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("md4", define, sdk.Version("0.1.0"),
		sdk.Summary("weighted cross-entropy of masked tokens, a bound on the likelihood for any schedule"))
}

func define(o Options, task spec.Task) (trainer.Definition, error) {
	clock, err := newSchedule(o)
	if err != nil {
		return trainer.Definition{}, err
	}
	if o.T > 0 && (o.Estimator == "count" || o.Eval == "count") {
		return trainer.Definition{}, errors.New("option t: the estimator by counts is of continuous time; leave t at 0, or choose the estimator time")
	}
	d := trainer.Definition{
		Loss:     func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o, clock) },
		Eval:     func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return evalByTime(g, in, o, clock) },
		Schedule: clock.spec,
		Summary:  fmt.Sprintf("MD4, %s schedule, estimator %s", clock.spec, o.Estimator),
	}
	if o.T > 0 {
		d.Summary += fmt.Sprintf(", T = %d", o.T)
	}
	if o.Eval == "count" || o.Eval == "auto" && o.T == 0 && !task.Denoiser.Takes("timesteps") {
		d.Eval = func(g *graph.Builder, in trainer.Inputs) trainer.Bound {
			return trainer.CountBound(g, in, func(u graph.Value) graph.Value { return clock.inverse(g, u) })
		}
	}
	return d, nil
}

// sample is one draw of the bound's diffusion term, per row.
type sample struct {
	logits graph.Value // float32 [B, L, V]
	masked graph.Value // bool [B, L]
	ce     graph.Value // float32 [B]: masked cross-entropy in nats
	bound  graph.Value // float32 [B]: weight times ce
	n, k   graph.Value // float32 [B]: free positions, masks
}

// loss is nats per token: the rows' bounds over their free tokens. The authors' code divides by N, too.
func loss(g *graph.Builder, in trainer.Inputs, o Options, clock *schedule) trainer.Loss {
	var s sample
	if o.Estimator == "count" {
		s = byCount(g, in, o, clock)
	} else {
		s = byTime(g, in, o, clock)
	}
	return trainer.PerToken(s.bound, s.n).Metric("nll", s.bound, s.n).Metric("ce", s.ce, s.k)
}

// byTime masks each free token with probability u_t and weighs with w(t) (MD4 equation 5), or with T rho(s, t) for finite T.
func byTime(g *graph.Builder, in trainer.Inputs, o Options, clock *schedule) sample {
	t := in.Time(diffusion.TimeSampler(o.Times), 0) // [B, 1]
	u, w := clock.at(g, t)
	if o.T > 0 {
		t, u, w = clock.snapped(g, t, o.T)
	}
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), u)) // [B, L]
	s := run(g, in, masked, t)
	s.n, s.k = in.FreeCount(), g.RowSum(g.Cast(masked, graph.Float32))
	s.bound = g.Mul(g.Squeeze(w, 1), s.ce)
	return s
}

// byCount masks k of N free tokens, k uniform on 1..N, and weighs with N/k.
func byCount(g *graph.Builder, in trainer.Inputs, o Options, clock *schedule) sample {
	c := trainer.ExactCount(g, in, in.Time(diffusion.TimeSampler(o.Times), 0))
	s := run(g, in, c.Masked, clock.inverse(g, c.Fraction(g)))
	s.n, s.k = c.N, c.K
	s.bound = g.Mul(c.Weight(g), s.ce)
	return s
}

// run calls the denoiser on the masked rows.
func run(g *graph.Builder, in trainer.Inputs, masked, t graph.Value) sample {
	noised := g.Select(masked, in.MaskID(), in.Tokens())
	s := sample{masked: masked, logits: in.Network("denoiser", trainer.IDs(noised).At(t))["logits"]}
	s.ce = g.RowSum(g.Keep(masked, g.CrossEntropy(s.logits, in.Tokens())))
	return s
}

// evalByTime is a sample of the whole bound: diffusion, reconstruction N (1-alpha_0) log m and prior N alpha_1 log m, which are
// reported apart. The paper leaves the last two out, the authors' code the last.
func evalByTime(g *graph.Builder, in trainer.Inputs, o Options, clock *schedule) trainer.Bound {
	s := byTime(g, in, o, clock)
	recon := g.Mul(s.n, g.Float(clock.Reconstruction(1, in.Task().Real())))
	prior := g.Mul(s.n, g.Float(clock.Prior(1, in.Task().Real())))
	return trainer.RowBound(g.Add(s.bound, g.Add(recon, prior)), s.n).
		Metric("diffusion", s.bound, s.n).
		Metric("recon", recon, s.n).
		Metric("prior", prior, s.n).
		Metric("ce", s.ce, s.k).
		Metric("accuracy", trainer.Hits(g, in, s.logits, s.masked), s.k)
}
