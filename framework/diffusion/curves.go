package diffusion

import "math"

// linear is alpha_t = 1 - t, the log-linear schedule of SEDD and MDLM.
type linear struct{}

func (linear) alpha(t float64) float64    { return 1 - t }
func (linear) u(t float64) float64        { return t }
func (linear) slope(float64) float64      { return 1 }
func (linear) weight(t float64) float64   { return 1 / t }
func (linear) delta(s, t float64) float64 { return t - s }
func (linear) inverse(u float64) float64  { return u }

// polynomial is alpha_t = 1 - t^c.
type polynomial struct{ c float64 }

func (p polynomial) alpha(t float64) float64   { return -math.Expm1(p.c * math.Log(t)) }
func (p polynomial) u(t float64) float64       { return math.Pow(t, p.c) }
func (p polynomial) slope(t float64) float64   { return p.c * math.Pow(t, p.c-1) }
func (p polynomial) weight(t float64) float64  { return p.c / t }
func (p polynomial) inverse(u float64) float64 { return math.Pow(u, 1/p.c) }

// delta is t^c (1 - (s/t)^c).
func (p polynomial) delta(s, t float64) float64 {
	if s == 0 || t == 0 {
		return p.u(t)
	}
	return -math.Expm1(p.c*math.Log1p((s-t)/t)) * p.u(t)
}

// cosine is alpha_t = 1 - cos(pi/2 (1 - t)).
type cosine struct{}

// alpha is 2 sin^2(pi/4 (1-t)) near t = 1, where the difference would cancel.
func (c cosine) alpha(t float64) float64 {
	if t < 0.5 {
		return 1 - c.u(t)
	}
	h := math.Sin(math.Pi / 4 * (1 - t))
	return 2 * h * h
}
func (cosine) u(t float64) float64        { return math.Sin(math.Pi / 2 * t) }
func (cosine) slope(t float64) float64    { return math.Pi / 2 * math.Sin(math.Pi/2*(1-t)) }
func (c cosine) weight(t float64) float64 { return c.slope(t) / c.u(t) }
func (cosine) inverse(u float64) float64  { return math.Asin(u) * (2 / math.Pi) }

// delta is sin a - sin b = 2 cos((a+b)/2) sin((a-b)/2), the cosine written as the sine of the complement.
func (c cosine) delta(s, t float64) float64 {
	if s == 0 {
		return c.u(t)
	}
	return 2 * math.Sin(math.Pi/4*((1-s)+(1-t))) * math.Sin(math.Pi/4*(t-s))
}

// geometric is alpha_t = exp(-b(t)), b(t) = bmin^(1-t) bmax^t. The paper's table inverts the logarithm in its weight; with
// log(bmax/bmin), as here, the weight is positive.
type geometric struct{ bmin, bmax, log float64 }

// b takes the nearer end as its base, which keeps the exponent small and b(0), b(1) exact.
func (g geometric) b(t float64) float64 {
	if t < 0.5 {
		return g.bmin * math.Exp(t*g.log)
	}
	return g.bmax * math.Exp((t-1)*g.log)
}

func (g geometric) alpha(t float64) float64 { return math.Exp(-g.b(t)) }
func (g geometric) u(t float64) float64     { return -math.Expm1(-g.b(t)) }
func (g geometric) slope(t float64) float64 { return g.b(t) * g.alpha(t) * g.log }
func (g geometric) weight(t float64) float64 {
	b := g.b(t)
	return b * g.log / math.Expm1(b)
}
func (g geometric) inverse(u float64) float64 {
	return math.Log(-math.Log1p(-u)/g.bmin) / g.log
}

// delta is exp(-b(s)) (1 - exp(-(b(t) - b(s)))).
func (g geometric) delta(s, t float64) float64 {
	b := g.b(s)
	return -math.Expm1(-b*math.Expm1((t-s)*g.log)) * math.Exp(-b)
}
