package md4

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// schedule writes a masking schedule with graph operators. It computes in float64, on [B, 1]: the numbers of a batch cost
// nothing, and differences over short steps and 1 - e^-b keep their digits. u has its own form; it is never 1 - alpha.
type schedule struct {
	*diffusion.Schedule
	spec diffusion.Spec
}

func newSchedule(o Options) (*schedule, error) {
	s := diffusion.Spec{Kind: o.Schedule, Eps: o.Eps}
	switch o.Schedule {
	case "polynomial":
		s.C = o.C
	case "geometric":
		s.BMin, s.BMax = o.BMin, o.BMax
	}
	made, err := s.New()
	if err != nil {
		return nil, err
	}
	return &schedule{made, s}, nil
}

// at returns u_t, the chance to be masked, and the weight w(t) = -alpha'_t/(1-alpha_t), float32 [B, 1].
func (s *schedule) at(g *graph.Builder, t graph.Value) (u, w graph.Value) {
	t = g.Cast(t, graph.Float64)
	shifted := s.shift(g, s.u(g, t))
	return single(g, shifted), single(g, g.Div(s.scaled(g, s.slope(g, t)), shifted))
}

// snapped brings times to the right end t of their cell of the grid of T steps, s = t - 1/T, and returns t, u_t and the weight
// T rho(s, t) (MD4 section 3, finite T), float32 [B, 1].
func (s *schedule) snapped(g *graph.Builder, time graph.Value, steps int) (t, u, w graph.Value) {
	T := g.Double(float64(steps))
	i := g.Min(g.Floor(g.Mul(g.Cast(time, graph.Float64), T)), g.Double(float64(steps-1)))
	from, to := g.Div(i, T), g.Div(g.Add(i, g.Double(1)), T)
	at := s.u(g, to)
	shifted := s.shift(g, at)
	rho := g.Div(s.scaled(g, g.Sub(at, s.u(g, from))), shifted)
	return single(g, to), single(g, shifted), single(g, g.Mul(T, rho))
}

// inverse is the time at which a fraction of the tokens is masked, float32 [B, 1].
func (s *schedule) inverse(g *graph.Builder, fraction graph.Value) graph.Value {
	one := g.Double(1)
	u := g.Div(g.Sub(g.Cast(fraction, graph.Float64), g.Double(s.spec.Eps)), g.Double(1-2*s.spec.Eps))
	u = g.Min(g.Max(u, g.Double(0)), one)
	switch s.spec.Kind {
	case "polynomial":
		u = g.Pow(u, g.Double(1/s.spec.C))
	case "cosine": // (2/pi) asin u, and asin u = 2 atan(u / (1 + sqrt(1 - u^2)))
		half := g.Div(u, g.Add(one, g.Sqrt(g.Sub(one, g.Mul(u, u)))))
		return g.Mul(g.Op("Atan", nil, single(g, half)), g.Float(4/math.Pi))
	case "geometric":
		b := g.Neg(g.Log(g.Sub(one, g.Min(u, g.Double(1-0x1p-53)))))
		t := g.Div(g.Log(g.Max(g.Div(b, g.Double(s.spec.BMin)), one)), g.Double(math.Log(s.spec.BMax/s.spec.BMin)))
		u = g.Min(t, one)
	}
	return single(g, u)
}

// u is 1 - alpha_t before the shift, in the forms of the sheet's table; float64.
func (s *schedule) u(g *graph.Builder, t graph.Value) graph.Value {
	switch s.spec.Kind {
	case "polynomial":
		return g.Pow(t, g.Double(s.spec.C))
	case "cosine":
		return g.Sin(g.Mul(t, g.Double(math.Pi/2)))
	case "geometric": // 1 - e^-b = 2 h/(1 + h) with h = tanh(b/2)
		h := g.Tanh(g.Mul(s.b(g, t), g.Double(0.5)))
		return g.Div(g.Add(h, h), g.Add(h, g.Double(1)))
	}
	return t
}

// slope is du/dt = -alpha'_t before the shift; float64.
func (s *schedule) slope(g *graph.Builder, t graph.Value) graph.Value {
	switch s.spec.Kind {
	case "polynomial":
		return g.Mul(g.Pow(t, g.Double(s.spec.C-1)), g.Double(s.spec.C))
	case "cosine":
		return g.Mul(g.Cos(g.Mul(t, g.Double(math.Pi/2))), g.Double(math.Pi/2))
	case "geometric":
		b := s.b(g, t)
		return g.Mul(g.Mul(b, g.Exp(g.Neg(b))), g.Double(math.Log(s.spec.BMax/s.spec.BMin)))
	}
	return g.Double(1)
}

// b is the geometric schedule's bmin^(1-t) bmax^t.
func (s *schedule) b(g *graph.Builder, t graph.Value) graph.Value {
	return g.Exp(g.Add(g.Mul(t, g.Double(math.Log(s.spec.BMax/s.spec.BMin))), g.Double(math.Log(s.spec.BMin))))
}

// scaled is (1 - 2 eps) x, what the shift does to differences.
func (s *schedule) scaled(g *graph.Builder, x graph.Value) graph.Value {
	if s.spec.Eps == 0 {
		return x
	}
	return g.Mul(x, g.Double(1-2*s.spec.Eps))
}

// shift is (1 - 2 eps) u + eps.
func (s *schedule) shift(g *graph.Builder, u graph.Value) graph.Value {
	if s.spec.Eps == 0 {
		return u
	}
	return g.Add(s.scaled(g, u), g.Double(s.spec.Eps))
}

func single(g *graph.Builder, x graph.Value) graph.Value { return g.Cast(x, graph.Float32) }
