package p2planner

import (
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// proposal is a row as a planner meets it in sampling: nothing is masked, and some tokens are wrong.
type proposal struct {
	masked graph.Value // bool [B, L]: the masks of x_t
	k      graph.Value // float32 [B]: how many
	z      graph.Value // int64 [B, L]: the candidate; the row's own tokens where nothing is free
	right  graph.Value // float32 [B, L]: y = 1 where z is the true token
}

// ends keeps ratios of masks away from 0 and 1.
const ends = 1e-3

// propose masks free tokens and draws z ~ D(x_t) at one temperature: at masked positions, and, but for a chance of mix, at
// unmasked ones, too. A denoiser that copies its input would else leave no wrong token there to learn from.
func propose(g *graph.Builder, in trainer.Inputs, o Options, times diffusion.TimeSampler) proposal {
	var p proposal
	var ratio graph.Value // [B, 1]
	if o.Masker == "count" {
		c := trainer.ExactCount(g, in, in.Time(times, 0))
		p.masked, p.k, ratio = c.Masked, c.K, c.Fraction(g)
	} else {
		ratio = in.Time(times, ends)
		p.masked = g.And(in.Free(), g.Less(in.Uniform("mask", "B", "L"), ratio))
		p.k = g.RowSum(g.Cast(p.masked, graph.Float32))
	}
	tokens := in.Tokens()
	logits := in.Network("denoiser", trainer.IDs(g.Select(p.masked, in.MaskID(), tokens)).At(ratio))["logits"]
	fresh := g.And(in.Free(), g.Or(p.masked, g.GreaterOrEqual(in.Uniform("mix", "B", "L"), g.Float(o.Mix))))
	p.z = g.Select(fresh, draw(g, logits, in, o.Temperature), tokens)
	p.right = g.Cast(g.Equal(p.z, tokens), graph.Float32)
	return p
}

// draw is one token a position by the inverse of the distribution function, int64 [B, L]: the first one whose cumulative
// probability is above u. A token of probability 0, such as a suppressed one, does not raise the sum and is never the first.
// Tokens below 2^-24 are drawn more coarsely than their probability, for the noise has 23 bits.
func draw(g *graph.Builder, logits graph.Value, in trainer.Inputs, temperature float64) graph.Value {
	if temperature == 0 {
		return g.Op("ArgMax", []*graph.Attribute{graph.Int("axis", -1), graph.Int("keepdims", 0)}, logits)
	}
	p := g.Softmax(g.Div(logits, g.Float(temperature)), -1)
	sum := g.CumSum(p, -1)                                                  // [B, L, V]
	u := g.Mul(g.Unsqueeze(in.Uniform("token", "B", "L"), 2), last(g, sum)) // below the whole sum, which rounding moves off 1
	below := g.Cast(g.LessOrEqual(sum, u), graph.Int64)
	return g.ReduceSum(below, false, -1)
}

// last is the last column, [B, L, 1].
func last(g *graph.Builder, x graph.Value) graph.Value { return g.Slice(x, -1, -1, graph.End) }
