package autodiff

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	unary("Tanh", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Sub(c.num(1), c.Mul(y, y))) })
	unary("Sigmoid", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Sub(y, c.Mul(y, y))) })
	unary("Softplus", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Sigmoid(x)) })
	unary("Relu", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Sign(y)) })
	unary("LeakyRelu", func(c *vjp, dy, x, y graph.Value) graph.Value {
		a := float64(c.node.FloatAttr("alpha", 0.01))
		up := c.Cast(c.Greater(x, c.num(0)), y.Type())
		return c.Mul(dy, c.Add(c.Mul(up, c.num(1-a)), c.num(a)))
	})
	unary("Elu", func(c *vjp, dy, x, y graph.Value) graph.Value { // 1 above 0, a e^x = y + a below
		a := float64(c.node.FloatAttr("alpha", 1))
		return c.Mul(dy, c.Select(c.Greater(x, c.num(0)), c.num(1), c.Add(y, c.num(a))))
	})
	unary("Gelu", gelu)
	unary("mdm.Silu", func(c *vjp, dy, x, y graph.Value) graph.Value {
		if c.o.Kernels {
			return c.Op("mdm.SiluGrad", nil, dy, x)
		}
		s := c.logistic(x)
		return c.Mul(dy, c.Add(s, c.Sub(y, c.Mul(y, s))))
	})
	unary("com.microsoft.QuickGelu", func(c *vjp, dy, x, y graph.Value) graph.Value { // y = x s(a x)
		a := float64(c.node.FloatAttr("alpha", 1.702))
		s := c.logistic(c.Mul(x, c.num(a)))
		return c.Mul(dy, c.Add(s, c.Mul(c.Sub(y, c.Mul(y, s)), c.num(a))))
	})
	unary("Mish", func(c *vjp, dy, x, y graph.Value) graph.Value { // y = x t with t = tanh(softplus x)
		t := c.Tanh(c.Softplus(x))
		return c.Mul(dy, c.Add(t, c.Mul(c.Mul(x, c.logistic(x)), c.Sub(c.num(1), c.Mul(t, t)))))
	})
	unary("Softsign", func(c *vjp, dy, x, y graph.Value) graph.Value {
		d := c.Add(c.Abs(x), c.num(1))
		return c.Div(dy, c.Mul(d, d))
	})
	unary("HardSigmoid", func(c *vjp, dy, x, y graph.Value) graph.Value { // slope alpha between 0 and 1
		inside := c.Cast(c.And(c.Greater(y, c.num(0)), c.Less(y, c.num(1))), y.Type())
		return c.Mul(dy, c.Mul(inside, c.num(float64(c.node.FloatAttr("alpha", 0.2)))))
	})
	unary("HardSwish", func(c *vjp, dy, x, y graph.Value) graph.Value { // y = x h with h = clip(x/6 + 1/2, 0, 1)
		h := c.Op("HardSigmoid", []*graph.Attribute{graph.Float("alpha", 1.0/6), graph.Float("beta", 0.5)}, x)
		inside := c.Cast(c.Less(c.Abs(x), c.num(3)), y.Type())
		return c.Mul(dy, c.Add(h, c.Mul(c.Mul(x, c.num(1.0/6)), inside)))
	})
	on(fastGelu, "com.microsoft.FastGelu")
	on(swiGLU, "mdm.SwiGLU")
}

// logistic is 1 / (1 + e^-x) as (1 + tanh(x/2)) / 2: ONNX Runtime computes the hyperbolic tangent on all processors, the
// sigmoid on one.
func (c *vjp) logistic(x graph.Value) graph.Value {
	half := c.num(0.5)
	return c.Add(c.Mul(c.Tanh(c.Mul(x, half)), half), half)
}

// gelu: Phi(x) + x phi(x) = (1 + erf t + t (2/sqrt pi) e^(-t^2)) / 2 with t = x / sqrt 2 (Hendrycks and Gimpel, "Gaussian
// Error Linear Units", equation of section 2), the factor in the exponent.
func gelu(c *vjp, dy, x, y graph.Value) graph.Value {
	if c.node.TextAttr("approximate", "none") == "tanh" {
		return geluTanh(c, dy, x, y)
	}
	if c.o.Kernels && x.Type() == graph.Float32 {
		return c.Op("mdm.GeluGrad", nil, dy, x)
	}
	t := c.Mul(x, c.num(1/math.Sqrt2))
	e := c.Exp(c.Sub(c.num(math.Log(2/math.Sqrt(math.Pi))), c.Mul(t, t)))
	u := c.Add(c.Add(c.Erf(t), c.Mul(t, e)), c.num(1))
	return c.Mul(c.Mul(dy, u), c.num(0.5))
}

// geluTanh: y = x s with s = sigmoid(2k (x + a x^3)); y' = s + y (1 - s) 2k (1 + 3a x^2).
func geluTanh(c *vjp, dy, x, y graph.Value) graph.Value {
	k, a := math.Sqrt(2/math.Pi), 0.044715
	square := c.Mul(x, x)
	s := c.logistic(c.Mul(x, c.Add(c.Mul(square, c.num(2*k*a)), c.num(2*k))))
	w := c.Add(c.Mul(square, c.num(6*k*a)), c.num(2*k))
	return c.Mul(dy, c.Add(s, c.Mul(c.Sub(y, c.Mul(y, s)), w)))
}

// fastGelu is the tanh form of x + bias.
func fastGelu(c *vjp) {
	x, bias := c.x[0], c.in(1)
	if bias.Given() {
		x = c.Add(x, bias)
	}
	d := geluTanh(c, c.dy[0], x, c.y[0])
	c.dx[0] = d
	if c.wants(1) {
		c.dx[1] = c.sumTo(d, bias, c.x[0].Shape())
	}
}

// swiGLU: y = silu(u) v (Shazeer, "GLU Variants Improve Transformer").
func swiGLU(c *vjp) {
	u, v, dy := c.x[0], c.x[1], c.dy[0]
	if c.o.Kernels {
		copy(c.dx, c.OpN("mdm.SwiGLUGrad", 2, nil, dy, u, v))
		return
	}
	s := c.logistic(u)
	y := c.Mul(u, s)
	if c.want[0] {
		c.dx[0] = c.Mul(c.Mul(dy, v), c.Add(s, c.Sub(y, c.Mul(y, s))))
	}
	if c.want[1] {
		c.dx[1] = c.Mul(dy, y)
	}
}
