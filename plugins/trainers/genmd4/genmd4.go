// Package genmd4 is the trainer of GenMD4 (Shi et al. 2024, "Simplified and Generalized Masked Diffusion for Discrete Data", section
// 6): every token of the vocabulary has a masking speed of its own, alpha_t = 1 - t^w, and the speeds are learned with the network
// through the bound.
//
// Masks are discrete samples of what the speeds say, so that plain differentiation of the loss is wrong for the speeds, and drives
// them to 0. Each row is masked twice, and a leave-one-out score term (RLOO) gives their gradient. What the log shows is the bound.
package genmd4

import (
	"errors"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Options of the trainer.
type Options struct {
	Frozen   bool    `option:"frozen" default:"false" help:"leave the exponents as they are: 1, or those of the model that the run begins with. MD4 with two masks a row, the fair rival of learned exponents"`
	LR       float64 `option:"exponents_lr" default:"1" min:"0" help:"factor on the learning rate for the exponents"`
	Decay    float64 `option:"exponents_decay" default:"0" min:"0" help:"factor on the weight decay for the exponents, which shrinks all of them towards 0.69; the authors' code has 1"`
	Eps      float64 `option:"eps" default:"1e-4" min:"0" max:"0.5" help:"a token is masked with probability (1-eps) t^w: eps of them are visible even at t = 1"`
	T1       float64 `option:"t1" default:"1e-3" min:"1e-9" max:"0.5" help:"earliest time: what happens before it is the bound's reconstruction term"`
	Times    string  `option:"times" default:"shared_offset" enum:"iid,shared_offset,stratified" help:"how the rows of a batch share their times"`
	Timeless bool    `option:"timeless" default:"false" help:"take a network that is not told the time. The bound stays a bound, and gets worse: under unequal exponents a mask that is still there tells what it may be"`
}

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("genmd4", define, sdk.Version("0.1.0"),
		sdk.Summary("MD4 with a learned masking speed for every token, a bound on the likelihood"))
}

func define(o Options, task spec.Task) (trainer.Definition, error) {
	if !o.Timeless && !task.Denoiser.Takes("timesteps") {
		return trainer.Definition{}, errors.New("the network is not told the time, and what stands behind a mask depends on it where tokens have speeds of their own; give it the time with --set network.time=adaln, or say --set trainer.timeless=true")
	}
	if o.Eps >= 0.5 {
		return trainer.Definition{}, fmt.Errorf("option eps: is %v; expected less than 0.5, such as 1e-4", o.Eps)
	}
	d := trainer.Definition{
		Loss:     func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o) },
		Eval:     func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return bound(g, in, o) },
		Schedule: diffusion.Spec{Kind: spec.PerToken, Eps: o.Eps},
		Summary:  "GenMD4, learned exponents",
		Params:   []spec.Param{{Name: spec.RawExponents, Shape: []int64{int64(task.V)}, Init: spec.Init{Value: math.Log(math.E - 1)}}},
		Groups:   []spec.Group{{Match: spec.RawExponents, LR: o.LR, Decay: o.Decay}},
	}
	if o.Frozen {
		d.Summary = "GenMD4, exponents left as they are"
		d.Groups[0].LR, d.Groups[0].Decay = 0, 0
	}
	return d, nil
}

// loss is nats per token, (l_a + l_b)/2 and the reconstruction, with a gradient of its own for the exponents: that of
// (l_a + l_b)/2 + (l_a - l_b)(log q_a - log q_b)/2, the second difference's factor held constant. The score term has the value 0.
func loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	w := speeds(g, in, o)
	t := w.time(in, diffusion.TimeSampler(o.Times))
	a, b := w.sample(in, t, "a"), w.sample(in, t, "b")
	half := g.Float(0.5)
	value := g.Add(g.Mul(half, g.Add(a.loss, b.loss)), w.reconstruction(in))
	score := g.Sub(a.logq, b.logq) // [B] float64: large numbers whose difference counts
	score = g.Cast(g.Sub(score, g.StopGradient(score)), graph.Float32)
	row := g.Add(value, g.Mul(g.Mul(half, g.StopGradient(g.Sub(a.loss, b.loss))), score))
	n, k := in.FreeCount(), g.Add(a.k, b.k)
	return w.metrics(trainer.PerToken(row, n).Metric("nll", value, n).Metric("ce", g.Add(a.ce, b.ce), k))
}

// bound is one sample of the whole bound of each row: diffusion, reconstruction at t1, and the prior N alpha_1 log m, alpha_1 = eps,
// which are reported apart. The authors' code leaves the prior out.
func bound(g *graph.Builder, in trainer.Inputs, o Options) trainer.Bound {
	w := speeds(g, in, o)
	s := w.sample(in, w.time(in, trainer.Stratified), "a")
	n, recon := in.FreeCount(), w.reconstruction(in)
	prior := g.Mul(n, g.Float(o.Eps*math.Log(float64(in.Task().Real()))))
	return trainer.RowBound(g.Add(s.loss, g.Add(recon, prior)), n).
		Metric("diffusion", s.loss, n).
		Metric("recon", recon, n).
		Metric("prior", prior, n).
		Metric("ce", s.ce, s.k).
		Metric("accuracy", trainer.Hits(g, in, s.logits, s.masked), s.k)
}
