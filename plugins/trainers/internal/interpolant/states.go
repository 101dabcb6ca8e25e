package interpolant

import "github.com/mdmhost/mdmhost/framework/graph"

// States says where each position of a clean row is on its way dropped -> masked -> clean; what is fixed is clean, padding is
// nothing. All are bool [N, L].
type States struct {
	Dropped, Masked graph.Value // of free positions
	Present         graph.Value // real and not dropped
}

// Sample draws the states at the rows' time from noise [N, L] and speeds [N, L] (or scalars), through which no gradient passes: event times
// u_in = -log(1-q_in)/b_in and u_um = u_in - log(1-q_um)/b_um in the clock (methods/loflexmdm.md, section 4.2).
func (r Rows) Sample(qIn, qUm, bIn, bUm graph.Value) States {
	g := r.g
	wait := func(q, b graph.Value) graph.Value {
		return g.Neg(g.Div(g.Log(g.Sub(g.Float(1), q)), g.StopGradient(b)))
	}
	u := g.Cast(r.U, graph.Float32)
	inserted := wait(qIn, bIn)
	unmasked := g.Add(inserted, wait(qUm, bUm))
	dropped := g.And(r.Free, g.Less(u, inserted))
	return States{
		Dropped: dropped,
		Masked:  g.And(r.Free, g.And(g.GreaterOrEqual(u, inserted), g.Less(u, unmasked))),
		Present: g.And(r.Real, g.Not(dropped)),
	}
}

// LogP is log p(states | row, t), float64 [N], differentiable by the speeds [N, L] (or scalars): the sum over free positions of
//
//	dropped  -b_in u
//	masked   log b_in - min(b_in, b_um) u + log u + log((1 - e^-d)/d),  d = |b_in - b_um| u
//	clean    log of the rest
//
// (methods/loflexmdm.md, section 4.2), in which no difference of these loses its digits.
func (r Rows) LogP(s States, bIn, bUm graph.Value) graph.Value {
	g, u := r.g, r.U
	bIn, bUm = g.Cast(bIn, graph.Float64), g.Cast(bUm, graph.Float64)
	drop := g.Neg(g.Mul(bIn, u))
	d := g.Mul(g.Abs(g.Sub(bIn, bUm)), u)
	mask := g.Add(g.Sub(g.Log(g.Mul(bIn, u)), g.Mul(g.Min(bIn, bUm), u)), logDecay(g, d))
	all := g.Select(s.Dropped, drop, g.Select(s.Masked, mask, logRest(g, drop, mask, g.Mul(bIn, u), g.Mul(bUm, u))))
	return g.RowSum(g.Keep(r.Free, all))
}

// Below these the two series are more exact than the formulas in float64.
const (
	smallDecay = 1e-3
	smallClean = 1e-3
)

// logDecay is log((1 - e^-d)/d) for d >= 0. The branch that is not taken gets an argument at which its slope is finite.
func logDecay(g *graph.Builder, d graph.Value) graph.Value {
	small := g.Less(d, g.Double(smallDecay))
	near := g.Mul(d, g.Sub(g.Div(d, g.Double(24)), g.Double(0.5))) // -d/2 + d^2/24
	far := g.Select(small, g.Double(1), d)
	return g.Select(small, near, g.Log(g.Div(g.Sub(g.Double(1), g.Exp(g.Neg(far))), far)))
}

// tiny keeps logarithms of rounded-off probabilities finite.
const tiny = 1e-30

// logRest is log(1 - e^drop - e^mask) with x = b_in u and y = b_um u; for small s = x + y it is the series of the two-stage
// exponential, xy/2 (1 - s/3 + (s^2 - xy)/12).
func logRest(g *graph.Builder, drop, mask, x, y graph.Value) graph.Value {
	s, p := g.Add(x, y), g.Mul(x, y)
	small := g.Less(s, g.Double(smallClean))
	bend := g.Sub(g.Div(g.Sub(g.Mul(s, s), p), g.Double(12)), g.Div(s, g.Double(3)))
	near := g.Mul(g.Mul(p, g.Double(0.5)), g.Add(g.Double(1), bend))
	direct := g.Sub(g.Sub(g.Double(1), g.Exp(drop)), g.Exp(mask))
	rest := g.Select(small, near, direct)
	return g.Log(g.Max(rest, g.Double(tiny)))
}
