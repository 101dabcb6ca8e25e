package interpolant

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Terms are a sample of the bound's parts, float32 [N] in nats: their mean over time, states and rows bounds -log p from above
// (methods/loflexmdm.md, section 4.3).
type Terms struct {
	CE    graph.Value // h sum over masks of b_um (-log K)
	KL    graph.Value // h sum over masks of D(b_um, m_um)
	In    graph.Value // h sum over gaps of D(G, m_in)
	Total graph.Value

	Masks graph.Value // how many
	Hits  graph.Value // masks at which the likeliest token is the true one
}

// Terms calls the denoiser on contracted rows. bUm is float32 [N, L] of the clean positions, or a scalar; the network's unmask_rate
// is held against it, where the network gives one.
func (c Contracted) Terms(bUm graph.Value) Terms {
	r, g := c.rows, c.rows.g
	call := trainer.IDs(c.IDs).At(r.T)
	if r.in.Task().Denoiser.Takes("attention_mask") {
		call = call.With("attention_mask", g.Cast(c.Real, graph.Int64))
	}
	out := r.in.Network(spec.Denoiser, call)
	if bUm.HasRank() && bUm.Rank() == 2 {
		bUm = c.pick(bUm)
	}
	sum := func(where, x graph.Value) graph.Value { return g.Mul(r.H, g.RowSum(g.Keep(where, x))) }
	t := Terms{
		CE: sum(c.Masked, g.Mul(bUm, g.CrossEntropy(out["logits"], c.Target))),
		In: sum(c.Gap, divergence(g, c.Sum, g.Cast(out[InsertionRate], graph.Float32))),
	}
	t.Total = g.Add(t.CE, t.In)
	t.KL = g.Zeros(t.CE)
	if Rates(r.in.Task()) {
		t.KL = sum(c.Masked, divergence(g, bUm, g.Cast(out[UnmaskRate], graph.Float32)))
		t.Total = g.Add(t.Total, t.KL)
	}
	best := g.Op("ArgMax", []*graph.Attribute{graph.Int("axis", -1), graph.Int("keepdims", 0)}, out["logits"]) // [N, L]
	t.Masks = g.RowSum(g.Cast(c.Masked, graph.Float32))
	t.Hits = g.RowSum(g.Cast(g.And(c.Masked, g.Equal(best, c.Target)), graph.Float32))
	return t
}

// least is the smallest rate whose logarithm is taken; more would cost, times the long clock (methods/loflexmdm.md, section 8, item 8).
const least = 1e-9

// divergence is D(p, q) = q - p + p log(p/q), and q where p is 0: of Bregman's kind, for r log r. Both are at least 0; a q of 0
// costs p log(p/1e-9).
func divergence(g *graph.Builder, p, q graph.Value) graph.Value {
	some := g.Greater(p, g.Float(0))
	safe := g.Select(some, p, g.Float(1))
	ratio := g.Sub(g.Log(safe), g.Log(g.Max(q, g.Float(least))))
	return g.Add(q, g.Keep(some, g.Mul(p, g.Sub(ratio, g.Float(1)))))
}

// Objective is what is minimised of a sample, float32 [N]: the bound, or the authors' mean over masks of the unmasking terms + insertion
// term / L, where L is the width of the batch (methods/loflexmdm.md, section 9, item 2).
func (t Terms) Objective(c Contracted, normalise string) graph.Value {
	if normalise != "code" {
		return t.Total
	}
	g := c.rows.g
	width := g.Cast(g.Squeeze(g.Slice(g.Shape(c.rows.Tokens), 0, 1, 2), 0), graph.Float32)
	return g.Add(g.Div(g.Add(t.CE, t.KL), g.Max(t.Masks, g.Float(1))), g.Div(t.In, width))
}

// Loss makes the batch's loss of a number per row [B]: nats a free token for the bound, and the mean over rows for the authors'
// reduction. The gaps of a row without a free token count: they are taught to stay empty.
func Loss(in trainer.Inputs, rows graph.Value, normalise string) trainer.Loss {
	if normalise == "code" {
		return trainer.PerRow(rows)
	}
	return trainer.PerToken(rows, in.FreeCount())
}
