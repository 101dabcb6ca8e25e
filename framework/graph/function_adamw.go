package graph

import "fmt"

func init() {
	define("AdamW", inferAdamW, body{
		inputs:     []string{"params", "grads", "m", "v", "decay", "rate", "scalars"},
		outputs:    []string{"next_params", "next_m", "next_v"},
		attributes: []*Attribute{Float("rest1", 0.1), Float("rest2", 0.001), Float("epsilon", 1e-8)},
		write:      writeAdamW,
	})
}

// writeAdamW is one step of AdamW (Loshchilov and Hutter, Decoupled Weight Decay Regularization, algorithm 2) in PyTorch's form, with
// epsilon outside the bias correction. Parameters, gradients and moments are [P]; scalars [4] are the learning rate, the factor that
// clips the gradient, 1 - beta1^t and 1 - beta2^t; decay and rate are the weight decay and the factor of the learning rate, of
// each element [P] or of all [1]. The attributes are rest = 1 - beta: 1 - 0.999 in float32 is wrong in the fifth digit.
func writeAdamW(b *Builder, in []Value) []Value {
	p, m, v, decay, rate := in[0], in[2], in[3], in[4], in[5]
	s := b.Split(in[6], 0, 1, 1, 1, 1) // [1] each
	lr, clip, bias1, bias2 := s[0], s[1], s[2], s[3]
	rest1, rest2, one := b.parameter("rest1", p), b.parameter("rest2", p), b.Scalar(1, p)
	g := b.Mul(in[1], clip)
	m = b.Add(b.Mul(m, b.Sub(one, rest1)), b.Mul(g, rest1))
	v = b.Add(b.Mul(v, b.Sub(one, rest2)), b.Mul(b.Mul(g, g), rest2))
	step := b.Mul(rate, lr)
	kept := b.Sub(p, b.Mul(b.Mul(step, decay), p))
	scale := b.Add(b.Div(b.Sqrt(v), b.Sqrt(bias2)), b.parameter("epsilon", p))
	return []Value{b.Sub(kept, b.Mul(b.Div(step, bias1), b.Div(m, scale))), m, v}
}

func inferAdamW(c *call) error {
	if err := c.need(7); err != nil {
		return err
	}
	if err := c.float(0); err != nil {
		return err
	}
	if err := c.sameType(0, 1, 2, 3, 4, 5, 6); err != nil {
		return err
	}
	p := c.in[0]
	for i, v := range c.in[:6] {
		n, all := v.Dim(0), p.Dim(0)
		if v.HasRank() && p.HasRank() && (v.Rank() != 1 || n.IsKnown() && all.IsKnown() && n != all && (i < 4 || n != Known(1))) {
			return fmt.Errorf("%s beside %s; expected vectors [P] of one length, decay and rate [P] or [1]", v, p)
		}
	}
	if s := c.in[6]; s.HasRank() && (s.Rank() != 1 || s.Dim(0).IsKnown() && s.Dim(0).Size != 4) {
		return fmt.Errorf("scalars %s; expected 4: learning rate, clip factor, 1 - beta1^t, 1 - beta2^t", s)
	}
	for i, from := range []int{0, 2, 3} {
		if v := c.in[from]; v.HasRank() {
			c.set(i, v.Type(), v.Shape())
		} else {
			c.unranked(i, v.Type())
		}
	}
	return nil
}
