package loflexmdm

import (
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/interpolant"
)

// loss is the bound (L1 + L2)/2 of two samples z1, z2 of a row at one time, with the gradient of
//
//	S = 1/2 [sg(L1 - L2) (log p(z1) - log p(z2)) + L1 + L2],
//
// which is that of the bound's mean, the states' dependence on the speeds included (methods/loflexmdm.md, section 4.4). Without the
// gradient the first product would be no loss: it stands in the graph less its own value. The regulariser is added.
func loss(g *graph.Builder, in trainer.Inputs, o Options) trainer.Loss {
	b := read(g, in, o)
	r := interpolant.Read(g, in, o.A, diffusion.TimeSampler(o.Times), o.Eps, o.Stretch, 2)
	bIn, bUm := r.Copies(b.in), b.um
	if bUm.Rank() == 2 {
		bUm = r.Copies(bUm)
	}
	states := r.Sample(r.Noise("q_in_pair"), r.Noise("q_um_pair"), bIn, bUm)
	c := r.Contract(states, bIn)
	t := c.Terms(bUm)
	l := r.Apart(t.Objective(c, o.Normalise))     // [B, 2]
	p := r.Apart(r.LogP(states, bIn, bUm))        // [B, 2]
	advantage := g.StopGradient(difference(g, l)) // [B]
	ratio := g.Cast(difference(g, p), graph.Float32)
	half := g.Float(0.5)
	score := g.Mul(advantage, g.Sub(ratio, g.StopGradient(ratio)))
	rows := g.Mul(half, g.Add(score, g.RowSum(l)))
	reg := regulariser(g, b, o)
	if reg.Given() {
		rows = g.Add(rows, reg)
	}
	one := g.Add(g.Zeros(ratio), g.Float(1))
	out := interpolant.Loss(in, rows, o.Normalise).Metric("nll", r.Mean(t.Total), in.FreeCount())
	for _, m := range append(t.Metrics(r), b.metrics(g, in)...) {
		out = out.Metric(m.Name, m.Sum, m.Count)
	}
	if reg.Given() {
		out = out.Metric("reg", reg, one)
	}
	return out.Metric("log_ratio", g.Abs(ratio), one).Metric("advantage", g.Abs(advantage), one)
}

// difference is x1 - x2 of pairs [B, 2], [B].
func difference(g *graph.Builder, x graph.Value) graph.Value {
	return g.Squeeze(g.Sub(g.Slice(x, 1, 0, 1), g.Slice(x, 1, 1, 2)), 1)
}

// eval is a sample of the path bound of each row in nats. The bound is that of the speeds' process, so it asks for them, too.
func eval(g *graph.Builder, in trainer.Inputs, o Options) trainer.Bound {
	b := read(g, in, o)
	r := interpolant.Read(g, in, o.A, trainer.Stratified, min(o.Eps, interpolant.EvalEps), interpolant.EvalStretch, 1)
	c := r.Contract(r.Sample(r.Noise("q_in"), r.Noise("q_um"), b.in, b.um), b.in)
	t := c.Terms(b.um)
	out := trainer.RowBound(t.Total, in.FreeCount())
	for _, m := range append(t.Metrics(r), b.metrics(g, in)...) {
		out = out.Metric(m.Name, m.Sum, m.Count)
	}
	return out
}

// metrics say how fast b_in is: its mean over free positions, and its spread, smallest and largest in a row, mean over rows that have any.
// Speeds that all stand at r_min, or that never spread, are FlexMDM's (methods/loflexmdm.md, section 8, item 2).
func (s *speeds) metrics(g *graph.Builder, in trainer.Inputs) []interpolant.Metric {
	n := s.count(g, true) // [B, 1]
	safe := g.Max(n, g.Float(1))
	b := g.Keep(s.free, g.StopGradient(s.in))
	off := g.Keep(s.free, g.Sub(b, g.Div(g.ReduceSum(b, true, 1), safe)))
	spread := g.Sqrt(g.Div(g.RowSum(g.Mul(off, off)), g.Squeeze(safe, 1)))
	rows := g.Min(g.Squeeze(n, 1), g.Float(1)) // [B]
	least := g.Mul(rows, g.ReduceMin(g.Select(s.free, b, g.Float(1e9)), false, 1))
	out := []interpolant.Metric{{Name: "b_in", Sum: g.RowSum(b), Count: in.FreeCount()}, {Name: "b_in_spread", Sum: spread, Count: rows},
		{Name: "b_in_min", Sum: least, Count: rows}, {Name: "b_in_max", Sum: g.ReduceMax(b, false, 1), Count: rows}}
	if s.um.Rank() == 2 {
		out = append(out, interpolant.Metric{Name: "b_um", Sum: g.RowSum(g.Keep(s.free, g.StopGradient(s.um))), Count: in.FreeCount()})
	}
	return out
}
