package graph

import "math"

func init() {
	define("StopGradient", inferUnary, body{inputs: []string{"x"}, outputs: []string{"y"},
		write: func(b *Builder, in []Value) []Value { return []Value{b.Identity(in[0])} }})
	define("Silu", inferFloatUnary, body{inputs: []string{"x"}, outputs: []string{"y"},
		write: func(b *Builder, in []Value) []Value { return []Value{b.Mul(in[0], b.Sigmoid(in[0]))} }})
	define("SiluGrad", inferGrads(1), body{inputs: []string{"dy", "x"}, outputs: []string{"dx"},
		write: func(b *Builder, in []Value) []Value {
			_, slope := b.siluAndSlope(in[1])
			return []Value{b.Mul(in[0], slope)}
		}})
	define("SwiGLU", inferGrads(0), body{inputs: []string{"u", "v"}, outputs: []string{"y"},
		write: func(b *Builder, in []Value) []Value {
			return []Value{b.Mul(b.Mul(in[0], b.Sigmoid(in[0])), in[1])}
		}})
	define("SwiGLUGrad", inferGrads(1, 2), body{inputs: []string{"dy", "u", "v"}, outputs: []string{"du", "dv"},
		write: func(b *Builder, in []Value) []Value {
			y, slope := b.siluAndSlope(in[1])
			return []Value{b.Mul(b.Mul(in[0], in[2]), slope), b.Mul(in[0], y)}
		}})
	define("GeluGrad", inferGrads(1), body{inputs: []string{"dy", "x"}, outputs: []string{"dx"},
		write: func(b *Builder, in []Value) []Value {
			// Phi(x) + x phi(x) = (1 + erf t + t (2/sqrt pi) e^(-t^2)) / 2 with t = x / sqrt 2; the factor stands in the exponent.
			x := in[1]
			t := b.Mul(x, b.Scalar(1/math.Sqrt2, x))
			p := b.Exp(b.Sub(b.Scalar(math.Log(2/math.Sqrt(math.Pi)), x), b.Mul(t, t)))
			u := b.Add(b.Add(b.Erf(t), b.Mul(t, p)), b.Scalar(1, x))
			return []Value{b.Mul(b.Mul(in[0], u), b.Scalar(0.5, x))}
		}})
	define("SoftmaxGrad", inferGrads(1), body{inputs: []string{"dy", "y"}, outputs: []string{"dx"},
		write: func(b *Builder, in []Value) []Value {
			t := b.Mul(in[0], in[1])
			return []Value{b.Sub(t, b.Mul(in[1], b.ReduceSum(t, true, -1)))}
		}})
}

// siluAndSlope is y = x s and its derivative s + y (1 - s) with s = sigmoid(x).
func (b *Builder) siluAndSlope(x Value) (y, slope Value) {
	s := b.Sigmoid(x)
	y = b.Mul(x, s)
	return y, b.Add(s, b.Sub(y, b.Mul(y, s)))
}

// inferGrads gives output i the type and shape of input like[i].
func inferGrads(like ...int) inference {
	return func(c *call) error {
		for _, i := range like {
			if err := c.need(i + 1); err != nil {
				return err
			}
		}
		for i := range c.out {
			v := c.in[like[i]]
			if v.HasRank() {
				c.set(i, v.Type(), v.Shape())
			} else {
				c.unranked(i, v.Type())
			}
		}
		return nil
	}
}

// Silu is x sigmoid(x).
func (b *Builder) Silu(x Value) Value { return b.Op("mdm.Silu", nil, x) }

// SwiGLU is silu(u) v.
func (b *Builder) SwiGLU(u, v Value) Value { return b.Op("mdm.SwiGLU", nil, u, v) }
