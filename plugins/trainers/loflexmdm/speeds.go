package loflexmdm

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// speeds are what the order network says of clean rows, float32 [B, L]; 1 where nothing is free.
type speeds struct {
	in graph.Value // b_in
	um graph.Value // b_um, the scalar 1 where it is frozen

	free   graph.Value   // bool [B, L]
	scores []graph.Value // [B, L]: o - mean o of what is learned, of centred speeds
}

// most is where the exponent of a speed ends, on both sides: e^10 is 22,026, far beyond what time can tell apart.
const most = 10

// read calls the order network on the clean rows.
func read(g *graph.Builder, in trainer.Inputs, o Options) speeds {
	clean := g.Add(g.Zeros(in.FreeCount()), g.Float(1)) // [B]: time 1
	score := in.Network(Order, trainer.IDs(in.Tokens()).At(clean))[Order]
	s := speeds{free: in.Free(), um: g.Float(1)}
	s.in = s.speed(g, o, g.Squeeze(g.Slice(score, 2, 0, 1), 2), o.C)
	if o.BUm == "trainable" {
		s.um = s.speed(g, o, g.Squeeze(g.Slice(score, 2, 1, 2), 2), 1)
	}
	return s
}

// speed turns scores [B, L] into speeds above 0 (methods/loflexmdm.md, sections 4.6 and 8, item 2).
func (s *speeds) speed(g *graph.Builder, o Options, x graph.Value, centre float64) graph.Value {
	var b graph.Value
	switch o.Speeds {
	case "softplus":
		b = g.Add(g.Float(o.RMin), g.Mul(g.Float(o.RMax-o.RMin), g.Softplus(g.Sub(x, g.Float(4)))))
	case "exp":
		b = g.Add(g.Float(o.RMin), g.Exp(g.Clip(x, g.Float(-most), g.Float(most))))
	default:
		limit := g.Float(o.Limit)
		bent := g.Keep(s.free, g.Mul(g.Tanh(g.Div(x, limit)), limit))
		mean := g.Div(g.ReduceSum(bent, true, 1), g.Max(s.count(g, true), g.Float(1)))
		centred := g.Keep(s.free, g.Sub(bent, mean))
		s.scores = append(s.scores, centred)
		b = g.Mul(g.Exp(centred), g.Float(centre))
	}
	return g.Select(s.free, b, g.Float(1))
}

// count is how many positions of each row are free, [B] or, kept, [B, 1].
func (s *speeds) count(g *graph.Builder, keep bool) graph.Value {
	return g.ReduceSum(g.Cast(s.free, graph.Float32), keep, 1)
}

// learned lists what the order network decides: b_in, and b_um where it is trained.
func (s *speeds) learned() []graph.Value {
	if s.um.Rank() == 2 {
		return []graph.Value{s.in, s.um}
	}
	return []graph.Value{s.in}
}
