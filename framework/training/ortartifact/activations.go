package ortartifact

import "math"

func init() {
	functions["ReluGrad"] = func(w *body) []string {
		return []string{w.op("Mul", w.in(0), w.cast(w.op("Greater", w.in(1), w.float(0)), 1))}
	}
	functions["LeakyReluGrad"] = func(w *body) []string {
		slope := w.float(float64(w.call.FloatAttr("alpha", 0.01)))
		return []string{w.op("Where", w.op("Greater", w.in(1), w.float(0)), w.in(0), w.op("Mul", w.in(0), slope))}
	}
	functions["SigmoidGrad"] = func(w *body) []string { // dy y (1 - y)
		return []string{w.op("Mul", w.in(0), w.op("Mul", w.in(1), w.op("Sub", w.float(1), w.in(1))))}
	}
	functions["TanhGrad"] = func(w *body) []string { // dy (1 - y^2)
		return []string{w.op("Mul", w.in(0), w.op("Sub", w.float(1), w.op("Mul", w.in(1), w.in(1))))}
	}
	functions["GeluGrad"] = func(w *body) []string { return []string{w.op("Mul", w.in(0), w.gelu(w.in(1)))} }
	functions["FastGeluGrad"] = func(w *body) []string { return []string{w.op("Mul", w.in(0), w.fastGelu(w.in(1)))} }
	functions["BiasGeluGrad_dX"] = func(w *body) []string { return []string{w.op("Mul", w.in(0), w.gelu(w.op("Add", w.in(1), w.in(2))))} }
	functions["BiasFastGeluGrad_dX"] = func(w *body) []string {
		return []string{w.op("Mul", w.in(0), w.fastGelu(w.op("Add", w.in(1), w.in(2))))}
	}
	functions["QuickGeluGrad"] = func(w *body) []string { // x s(a x): s + a x s (1 - s)
		ax := w.op("Mul", w.in(1), w.float(float64(w.call.FloatAttr("alpha", 1.702))))
		s := w.op("Sigmoid", ax)
		slope := w.op("Add", s, w.op("Mul", ax, w.op("Mul", s, w.op("Sub", w.float(1), s))))
		return []string{w.op("Mul", w.in(0), slope)}
	}
	functions["DropoutGrad"] = func(w *body) []string { // inputs dy, mask, ratio, training
		if w.in(1) == "" {
			return w.fail("its mask is missing; make the artifacts anew")
		}
		kept := w.op("Mul", w.in(0), w.cast(w.in(1), 1))
		if w.in(2) == "" {
			return []string{w.op("Div", kept, w.float(0.5))} // the operator's default
		}
		return []string{w.op("Div", kept, w.op("Sub", w.float(1), w.cast(w.in(2), 1)))}
	}
}

// gelu is the slope of x Phi(x): (1 + erf t + t (2/sqrt pi) exp(-t^2)) / 2 with t = x / sqrt 2.
func (w *body) gelu(x string) string {
	t := w.op("Mul", x, w.float(1/math.Sqrt2))
	bell := w.op("Mul", w.op("Exp", w.op("Neg", w.op("Mul", t, t))), w.float(2/math.Sqrt(math.Pi)))
	return w.op("Mul", w.float(0.5), w.op("Add", w.op("Add", w.op("Erf", t), w.float(1)), w.op("Mul", t, bell)))
}

// fastGelu is the slope of x (1 + tanh u) / 2 with u = c (x + a x^3): (1 + tanh u)/2 + x (1 - tanh^2 u) c (1 + 3 a x^2) / 2.
func (w *body) fastGelu(x string) string {
	c, a := math.Sqrt(2/math.Pi), 0.044715
	square := w.op("Mul", x, x)
	u := w.op("Mul", w.op("Mul", x, w.float(c)), w.op("Add", w.float(1), w.op("Mul", square, w.float(a))))
	h := w.op("Tanh", u)
	inner := w.op("Add", w.float(c), w.op("Mul", square, w.float(3*a*c)))
	steep := w.op("Mul", w.op("Mul", x, w.op("Sub", w.float(1), w.op("Mul", h, h))), inner)
	return w.op("Mul", w.float(0.5), w.op("Add", w.op("Add", w.float(1), h), steep))
}
