package graph

import (
	"fmt"
)

// Inference of types and shapes: one function an operator family, all of them in the operators table.

func (c *call) need(n int) error {
	for i := range n {
		if i >= len(c.in) || !c.in[i].Given() {
			return fmt.Errorf("input %d is missing; expected at least %d inputs", i, n)
		}
	}
	return nil
}

// input is input i, the zero Value where it is left out.
func (c *call) input(i int) Value {
	if i < len(c.in) {
		return c.in[i]
	}
	return Value{}
}

// set makes output i a tensor of known rank.
func (c *call) set(i int, typ Type, shape []Dim) {
	if i < len(c.out) {
		c.out[i] = info{typ: typ, shape: append(make([]Dim, 0, len(shape)), shape...), ranked: true}
	}
}

// unranked sets output i to a tensor of unknown rank.
func (c *call) unranked(i int, typ Type) {
	if i < len(c.out) {
		c.out[i] = info{typ: typ}
	}
}

// float holds the inputs against float types.
func (c *call) float(indexes ...int) error {
	for _, i := range indexes {
		switch t := c.input(i).Type(); t {
		case Float32, Float16, Float64, BFloat16, Undefined:
		default:
			return fmt.Errorf("input %d is %s; expected a float tensor, cast it", i, t)
		}
	}
	return nil
}

// number holds the inputs against types that can be added.
func (c *call) number(indexes ...int) error {
	for _, i := range indexes {
		if t := c.input(i).Type(); t == Bool || t == Text {
			return fmt.Errorf("input %d is %s; expected numbers, cast it", i, t)
		}
	}
	return nil
}

// sameType holds the given inputs against each other.
func (c *call) sameType(indexes ...int) error {
	first := c.input(indexes[0]).Type()
	for _, i := range indexes[1:] {
		if t := c.input(i).Type(); c.input(i).Given() && t != first && t != Undefined && first != Undefined {
			return fmt.Errorf("types differ: %s and %s; cast one of them", first, t)
		}
	}
	return nil
}

// axis makes an axis count from 0.
func axis(a int64, rank int) (int, error) {
	n := a
	if n < 0 {
		n += int64(rank)
	}
	if n < 0 || n >= int64(rank) {
		if rank == 0 {
			return 0, fmt.Errorf("axis %d of a scalar; expected a tensor with dimensions", a)
		}
		return 0, fmt.Errorf("axis %d of a tensor of rank %d; expected %d to %d", a, rank, -rank, rank-1)
	}
	return int(n), nil
}

// Broadcast is the shape of an elementwise operator over a and b. Dimensions that cannot be compared before the run count as
// equal, which the runtime checks.
func Broadcast(a, b []Dim) ([]Dim, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append(make([]Dim, 0, len(a)), a...)
	lead := len(a) - len(b)
	for i, d := range b {
		e := &out[lead+i]
		switch {
		case d.Size == 1 || d.same(*e):
		case e.Size == 1:
			*e = d
		case d.IsKnown() && e.IsKnown():
			return nil, fmt.Errorf("shapes %s and %s do not fit: %s against %s; expected equal sizes or 1, reshape or transpose one of them", shapeText(a), shapeText(b), e, d)
		case d.IsKnown(), e.vague() && !d.vague():
			*e = d
		}
	}
	return out, nil
}

func (c *call) broadcast(typ Type, indexes ...int) error {
	shape := []Dim{}
	for _, i := range indexes {
		v := c.input(i)
		if !v.Given() {
			continue
		}
		if !v.HasRank() {
			c.unranked(0, typ)
			return nil
		}
		var err error
		if shape, err = Broadcast(shape, v.Shape()); err != nil {
			return err
		}
	}
	c.set(0, typ, shape)
	return nil
}

func init() {
	register(inferBinary, "Add", "Sub", "Mul", "Div", "Pow", "Mod")
	register(inferVariadic, "Min", "Max", "Sum", "Mean")
	register(inferCompare, "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
	register(inferLogic, "And", "Or", "Xor")
	register(inferUnary, "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Relu", "Identity", "Trilu", "CumSum")
	register(inferFloatUnary, "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Tanh", "Sigmoid", "Gelu", "Softplus", "Sin", "Cos",
		"Softmax", "LogSoftmax", "com.microsoft.QuickGelu", "com.microsoft.FastGelu", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Mish", "Softsign", "Tan", "Atan")
	register(inferBoolUnary, "Not", "IsNaN", "IsInf")
	register(inferDropout, "Dropout")
	register(inferWhere, "Where")
	register(inferClip, "Clip")
	register(inferCast, "Cast")
	register(inferCastLike, "CastLike")
}

// inferBinary: elementwise with broadcasting. Sums and products of known int64 contents are known, too, so that shapes
// that a graph computes from sizes stay known.
func inferBinary(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.number(0, 1); err != nil {
		return err
	}
	if c.node.Op != "Pow" {
		if err := c.sameType(0, 1); err != nil {
			return err
		}
	}
	if err := c.broadcast(c.in[0].Type(), 0, 1); err != nil {
		return err
	}
	x, okX := c.in[0].Ints()
	y, okY := c.in[1].Ints()
	if okX && okY && len(x) > 0 && len(y) > 0 && (len(x) == len(y) || len(x) == 1 || len(y) == 1) {
		c.out[0].ints = arithmetic(c.node.Op, x, y)
	}
	return nil
}

// arithmetic works on known int64 contents; nil where a result is not known.
func arithmetic(op string, x, y []Dim) []Dim {
	out := make([]Dim, max(len(x), len(y)))
	for i := range out {
		a, b := x[min(i, len(x)-1)], y[min(i, len(y)-1)]
		m, isM := a.literal()
		n, isN := b.literal()
		switch {
		case op == "Add":
			out[i] = a.Plus(b)
		case op == "Sub":
			out[i] = a.Minus(b)
		case op == "Mul":
			out[i] = a.Times(b)
		case op == "Div" && isM && isN && n != 0:
			out[i] = number64(m / n)
		case op == "Div":
			out[i], _ = a.Over(b)
		default:
			return nil
		}
		if out[i].unknown() {
			return nil
		}
	}
	return out
}

func inferVariadic(c *call) error {
	all := make([]int, len(c.in))
	for i := range all {
		all[i] = i
	}
	if err := c.need(max(1, len(c.in))); err != nil {
		return err
	}
	if err := c.number(all...); err != nil {
		return err
	}
	if err := c.sameType(all...); err != nil {
		return err
	}
	return c.broadcast(c.in[0].Type(), all...)
}

func inferCompare(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.sameType(0, 1); err != nil {
		return err
	}
	return c.broadcast(Bool, 0, 1)
}

func inferLogic(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	for i := range 2 {
		if t := c.in[i].Type(); t != Bool && t != Undefined {
			return fmt.Errorf("input %d is %s; expected bool, compare it with something", i, t)
		}
	}
	return c.broadcast(Bool, 0, 1)
}

// like gives output 0 the shape of input 0.
func (c *call) like(typ Type) error {
	if err := c.need(1); err != nil {
		return err
	}
	if !c.in[0].HasRank() {
		c.unranked(0, typ)
		return nil
	}
	c.set(0, typ, c.in[0].Shape())
	return nil
}

func inferUnary(c *call) error {
	if err := c.like(c.input(0).Type()); err != nil {
		return err
	}
	if c.node.Op == "Identity" {
		c.out[0].ints, c.out[0].content = c.in[0].info.ints, c.in[0].info.content
	}
	return nil
}

func inferFloatUnary(c *call) error {
	if err := c.float(0); err != nil {
		return err
	}
	if a := c.attr("axis"); a != nil && c.input(0).HasRank() {
		if _, err := axis(a.I, c.in[0].Rank()); err != nil {
			return err
		}
	}
	return c.like(c.input(0).Type())
}

func inferBoolUnary(c *call) error { return c.like(Bool) }

func inferDropout(c *call) error {
	if err := c.like(c.input(0).Type()); err != nil {
		return err
	}
	if len(c.out) > 1 {
		c.out[1] = c.out[0]
		c.out[1].typ = Bool
	}
	return nil
}

func inferWhere(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	if t := c.in[0].Type(); t != Bool && t != Undefined {
		return fmt.Errorf("the condition is %s; expected bool", t)
	}
	if err := c.sameType(1, 2); err != nil {
		return err
	}
	return c.broadcast(c.in[1].Type(), 0, 1, 2)
}

func inferClip(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	if err := c.sameType(0, 1, 2); err != nil {
		return err
	}
	return c.like(c.in[0].Type())
}

func inferCast(c *call) error {
	to := Type(c.intAttr("to", 0))
	if err := c.like(to); err != nil {
		return err
	}
	if ints, ok := c.in[0].Ints(); ok && (to == Int64 || to == Int32) {
		c.out[0].ints = ints
	}
	return nil
}

func inferCastLike(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	return c.like(c.in[1].Type())
}
