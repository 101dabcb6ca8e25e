package autodiff

import (
	"encoding/binary"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(func(c *vjp) { c.dx[0] = c.dy[0] }, "Identity")
	on(eachInput(func(c *vjp, _ int) graph.Value { return c.dy[0] }), "Add", "Sum")
	on(eachInput(func(c *vjp, _ int) graph.Value { return c.Mul(c.dy[0], c.num(1/float64(len(c.x)))) }), "Mean")
	on(subtract, "Sub")
	on(eachInput(func(c *vjp, i int) graph.Value { return c.Mul(c.dy[0], c.x[1-i]) }), "Mul")
	on(divide, "Div")
	on(power, "Pow")
	on(extreme, "Max", "Min")
	on(choose, "Where")
	on(clip, "Clip")
	on(cast, "Cast")

	unary("Neg", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Neg(dy) })
	unary("Abs", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Sign(x)) })
	unary("Exp", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, y) })
	unary("Log", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Div(dy, x) })
	unary("Sqrt", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Div(c.Mul(dy, c.num(0.5)), y) })
	unary("Reciprocal", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Neg(c.Mul(dy, c.Mul(y, y))) })
	unary("Sin", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Cos(x)) })
	unary("Cos", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Neg(c.Mul(dy, c.Sin(x))) })
	unary("Tan", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Mul(dy, c.Add(c.Mul(y, y), c.num(1))) })
	unary("Atan", func(c *vjp, dy, x, y graph.Value) graph.Value { return c.Div(dy, c.Add(c.Mul(x, x), c.num(1))) })
	unary("Erf", func(c *vjp, dy, x, y graph.Value) graph.Value { // 2/sqrt(pi) e^(-x^2), the factor in the exponent
		return c.Mul(dy, c.Exp(c.Sub(c.num(math.Log(2/math.Sqrt(math.Pi))), c.Mul(x, x))))
	})
}

// unary adds the rule of an elementwise operator with one operand.
func unary(key string, f func(c *vjp, dy, x, y graph.Value) graph.Value) {
	on(func(c *vjp) { c.dx[0] = f(c, c.dy[0], c.x[0], c.y[0]) }, key)
}

// eachInput is the rule of an elementwise operator whose cotangents, before their broadcast is undone, are f(c, i).
func eachInput(f func(c *vjp, i int) graph.Value) rule {
	return func(c *vjp) {
		for i := range c.x {
			if c.want[i] {
				c.dx[i] = c.fit(f(c, i), i)
			}
		}
	}
}

func subtract(c *vjp) {
	if c.want[0] {
		c.dx[0] = c.fit(c.dy[0], 0)
	}
	if c.want[1] {
		c.dx[1] = c.Neg(c.fit(c.dy[0], 1))
	}
}

func divide(c *vjp) {
	q := c.Div(c.dy[0], c.x[1])
	if c.want[0] {
		c.dx[0] = c.fit(q, 0)
	}
	if c.want[1] {
		c.dx[1] = c.Neg(c.fit(c.Mul(q, c.y[0]), 1))
	}
}

// power: d/dx x^e = e x^(e-1), d/de x^e = x^e ln x. Where e is 0, or x is 0 with e >= 0, the product 0 Inf is 0, as in PyTorch.
func power(c *vjp) {
	x, dy := c.x[0], c.dy[0]
	e := c.Cast(c.x[1], x.Type())
	if c.want[0] {
		var slope graph.Value
		switch n, constant := number(c.x[1]); {
		case constant && n == 1:
			slope = c.num(1)
		case constant && n == 2:
			slope = c.Mul(x, c.num(2))
		case constant && n == 3:
			slope = c.Mul(c.Mul(x, x), c.num(3))
		case constant && n == 0.5:
			slope = c.Div(c.num(0.5), c.y[0])
		case constant && n != 0:
			slope = c.Mul(c.Pow(x, c.num(n-1)), c.num(n))
		default:
			slope = c.Keep(c.Not(c.Equal(e, c.num(0))), c.Mul(e, c.Pow(x, c.Sub(e, c.num(1)))))
		}
		c.dx[0] = c.fit(c.Mul(dy, slope), 0)
	}
	if c.want[1] {
		flat := c.And(c.Equal(x, c.num(0)), c.GreaterOrEqual(e, c.num(0)))
		c.dx[1] = c.fit(c.Mul(dy, c.Keep(c.Not(flat), c.Mul(c.y[0], c.Log(x)))), 1)
	}
}

// number is the value of a constant with one element.
func number(v graph.Value) (float64, bool) {
	t := v.Content()
	if t == nil || graph.Volume(v.Shape()).Size != 1 {
		return 0, false
	}
	switch {
	case t.Type == graph.Float32 && len(t.Raw) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Raw))), true
	case t.Type == graph.Float32 && len(t.Floats) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Floats))), true
	case t.Type == graph.Float64 && len(t.Raw) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(t.Raw)), true
	case t.Type == graph.Int64:
		if n, err := t.Ints(); err == nil && len(n) == 1 {
			return float64(n[0]), true
		}
	}
	return 0, false
}

// extreme: the largest (smallest) operand gets the cotangent; equal ones share it evenly.
func extreme(c *vjp) {
	hits := make([]graph.Value, len(c.x))
	var count graph.Value
	for i, v := range c.x {
		hits[i] = c.Cast(c.Equal(v, c.y[0]), c.y[0].Type())
		if i == 0 {
			count = hits[i]
		} else {
			count = c.Add(count, hits[i])
		}
	}
	share := c.Div(c.dy[0], count)
	for i := range c.x {
		if c.want[i] {
			c.dx[i] = c.fit(c.Mul(share, hits[i]), i)
		}
	}
}

// choose selects rather than scales: what was not chosen may be infinite or no number.
func choose(c *vjp) {
	zero := c.num(0)
	if c.want[1] {
		c.dx[1] = c.fit(c.Select(c.x[0], c.dy[0], zero), 1)
	}
	if c.want[2] {
		c.dx[2] = c.fit(c.Select(c.x[0], zero, c.dy[0]), 2)
	}
}

func clip(c *vjp) {
	x, dy := c.x[0], c.dy[0]
	if c.want[0] {
		c.dx[0] = c.Keep(c.Equal(x, c.y[0]), dy)
	}
	if c.wants(1) {
		c.dx[1] = c.sumTo(c.Keep(c.Less(x, c.x[1]), dy), c.x[1], x.Shape())
	}
	if c.wants(2) {
		c.dx[2] = c.sumTo(c.Keep(c.Greater(x, c.x[2]), dy), c.x[2], x.Shape())
	}
}

func cast(c *vjp) { c.dx[0] = c.Cast(c.dy[0], c.x[0].Type()) }
