package loflexmdm

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/insertion"
)

// regulariser is what speeds cost besides the bound, float32 [B] (methods/loflexmdm.md, section 4.5), or no value where every weight is 0.
func regulariser(g *graph.Builder, s speeds, o Options) (total graph.Value) {
	add := func(weight float64, x graph.Value) {
		if x = g.Mul(g.Float(weight), x); total.Given() {
			x = g.Add(total, x)
		}
		total = x
	}
	n := g.Max(s.count(g, false), g.Float(1)) // [B]
	if o.Reg == "on" || o.Reg == "auto" && o.Speeds != "centred" {
		for _, b := range s.learned() {
			if o.Mixture > 0 {
				add(o.Mixture, straightness(g, s, b, n, o))
			}
			if o.Ends > 0 {
				add(o.Ends, ends(g, s, b, o.A))
			}
			if o.KL > 0 {
				add(o.KL, g.Div(g.RowSum(g.Keep(s.free, fromUniform(g, b, o.A))), n))
			}
		}
	}
	if o.Speeds == "centred" && o.L2 > 0 {
		for _, x := range s.scores {
			add(o.L2, g.Div(g.RowSum(g.Mul(x, x)), n))
		}
	}
	return total
}

// law is F(t) = 1 - (1 - t^a)^b, the chance that an event of speed b is over at t (Kumaraswamy).
func law(g *graph.Builder, b graph.Value, clock float64) graph.Value {
	return g.Sub(g.Float(1), g.Exp(g.Mul(b, g.Float(-clock))))
}

// straightness is sum_k (mean_j F_j(t_k) - t_k)^2 over the middles of equal parts of time (equation 86).
func straightness(g *graph.Builder, s speeds, b, n graph.Value, o Options) graph.Value {
	times, clocks := make([]float32, o.Grid), make([]float32, o.Grid)
	for k := range times {
		t := (float64(k) + 0.5) / float64(o.Grid)
		times[k], clocks[k] = float32(t), float32(-insertion.Clock(t, o.A))
	}
	left := g.Exp(g.Mul(g.Unsqueeze(b, 2), g.Floats([]int64{1, 1, int64(o.Grid)}, clocks))) // [B, L, K]
	use := g.Unsqueeze(g.Cast(s.free, graph.Float32), 1)                                    // [B, 1, L]
	mean := g.Div(g.Squeeze(g.MatMul(use, left), 1), g.Unsqueeze(n, 1))                     // [B, K]
	off := g.Sub(g.Sub(g.Float(1), mean), g.Floats([]int64{1, int64(o.Grid)}, times))
	some := g.Greater(s.count(g, true), g.Float(0)) // a row without free positions has no law
	return g.RowSum(g.Keep(some, g.Mul(off, off)))
}

// margin is where ends begin, and the mass that an even law has there.
const margin = 0.01

// ends is sum_j max(F_j(0.01) - 0.01, 0)^2 + max(1 - F_j(0.99) - 0.01, 0)^2 (the authors' squares).
func ends(g *graph.Builder, s speeds, b graph.Value, a float64) graph.Value {
	over := func(mass graph.Value) graph.Value {
		x := g.Relu(g.Sub(mass, g.Float(margin)))
		return g.Mul(x, x)
	}
	early := over(law(g, b, insertion.Clock(margin, a)))
	late := over(g.Sub(g.Float(1), law(g, b, insertion.Clock(1-margin, a))))
	return g.RowSum(g.Keep(s.free, g.Add(early, late)))
}

// fromUniform is KL(F || uniform) = log(a b) + (a-1)/a (psi(1) - psi(b+1)) - (b-1)/b (the authors' program alone has it).
func fromUniform(g *graph.Builder, b graph.Value, a float64) graph.Value {
	kl := g.Sub(g.Log(g.Mul(b, g.Float(a))), g.Sub(g.Float(1), g.Reciprocal(b)))
	if a == 1 {
		return kl
	}
	return g.Sub(kl, g.Mul(g.Float((a-1)/a), harmonic(g, b)))
}

// euler is -psi(1).
const euler = 0.57721566490153286

// harmonic is psi(b+1) - psi(1): six steps up, psi(z) = psi(z+1) - 1/z, then psi's asymptotic series.
func harmonic(g *graph.Builder, b graph.Value) graph.Value {
	const steps = 6
	z := g.Add(b, g.Float(steps+1))
	r := g.Reciprocal(z)
	r2 := g.Mul(r, r)
	tail := g.Mul(r2, g.Sub(g.Float(1.0/12), g.Mul(r2, g.Sub(g.Float(1.0/120), g.Mul(r2, g.Float(1.0/252))))))
	out := g.Add(g.Sub(g.Sub(g.Log(z), g.Mul(r, g.Float(0.5))), tail), g.Float(euler))
	for k := 1; k <= steps; k++ {
		out = g.Sub(out, g.Reciprocal(g.Add(b, g.Float(float64(k)))))
	}
	return out
}
