package autodiff

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(layerNorm, "LayerNormalization")
	on(rmsNorm, "RMSNormalization", "SimplifiedLayerNormalization")
}

// normalised is what both norms share: x as rows of the normalised dimensions, the scale as a vector.
type normalised struct {
	x, dy, scale graph.Value
	flat         bool // several dimensions are normalised and stand flattened here
}

func (c *vjp) normalised() (normalised, bool) {
	x, scale := c.x[0], c.x[1]
	n := normalised{x: x, dy: c.dy[0], scale: scale}
	if !c.ranked(x, scale) {
		return n, false
	}
	for i := range c.dy {
		if i > 0 && c.dy[i].Given() {
			c.unsupported("the gradient of its saved statistics has no rule; compute the mean with ReduceMean where it is trained through")
			return n, false
		}
	}
	axis := c.node.IntAttr("axis", -1)
	if axis < 0 {
		axis += int64(x.Rank())
	}
	fits := scale.Rank() == x.Rank()-int(axis)
	for i := range min(scale.Rank(), x.Rank()-int(axis)) {
		d, e := scale.Dim(i), x.Dim(int(axis)+i)
		fits = fits && (!d.IsKnown() || !e.IsKnown() || d.Size == e.Size) && (d.Size != 1 || e.Size == 1)
	}
	if !fits {
		c.unsupported("the scale %s does not have the normalised dimensions of %s; expand it", scale, x)
		return n, false
	}
	if scale.Rank() > 1 {
		n.flat = true
		rows := []*graph.Attribute{graph.Int("axis", axis)}
		n.x, n.dy = c.Op("Flatten", rows, x), c.Op("Flatten", rows, c.dy[0])
		n.scale = c.Op("Reshape", nil, scale, c.Ints(-1))
		c.Refine(n.x, graph.Volume(x.Shape()[:axis]), graph.Volume(scale.Shape()))
	}
	return n, true
}

// rows gives a saved statistic [..., 1] the shape that goes with n.x.
func (c *vjp) rows(n normalised, v graph.Value) graph.Value {
	if n.flat {
		return c.Op("Reshape", nil, v, c.Ints(-1, 1))
	}
	return v
}

// mean is the mean of scale v over the last dimension, [..., 1], as a product with scale / D: one pass over the data.
func (c *vjp) mean(n normalised, v graph.Value) graph.Value {
	size := c.num(float64(n.scale.Dim(0).Size))
	if !n.scale.Dim(0).IsKnown() {
		size = c.Cast(c.Op("Size", nil, n.scale), n.scale.Type())
	}
	return c.MatMul(v, c.Op("Reshape", nil, c.Div(n.scale, size), c.Ints(-1, 1)))
}

// give fills the cotangents of x, scale and bias; t is dY times the normalised x.
func (c *vjp) give(n normalised, dx, t graph.Value) {
	if c.want[0] {
		c.dx[0] = c.ReshapeLike(dx, c.x[0])
	}
	if c.want[1] {
		c.dx[1] = c.ReshapeLike(c.sumTo(t, n.scale, n.x.Shape()), c.x[1])
	}
	if c.wants(2) {
		c.dx[2] = c.sumTo(c.dy[0], c.x[2], c.x[0].Shape())
	}
}

// layerNorm (Ba, Kiros and Hinton, "Layer Normalization"): with x' = (x - mean) inv, dX = inv (g dY - mean(g dY) - x' mean(g dY
// x')). The forward node saves mean and inv.
func layerNorm(c *vjp) {
	n, ok := c.normalised()
	if !ok {
		return
	}
	mean, inv := c.statistics(n)
	if c.o.Kernels && c.x[0].Type() == graph.Float32 && !n.flat {
		copy(c.dx, c.OpN("mdm.LayerNormGrad", 3, nil, n.dy, n.x, n.scale, mean, inv)[:len(c.dx)])
		return
	}
	hat := c.Mul(c.Sub(n.x, mean), inv)
	t := c.Mul(n.dy, hat)
	var dx graph.Value
	if c.want[0] {
		m1, m2 := c.mean(n, n.dy), c.mean(n, t)
		dx = c.Mul(c.Sub(c.Sub(c.Mul(n.dy, n.scale), m1), c.Mul(hat, m2)), inv)
	}
	c.give(n, dx, t)
}

// statistics are the mean and the inverse deviation [..., 1], as the runtime saved them. It saves float32 only; for other types
// they are computed again.
func (c *vjp) statistics(n normalised) (mean, inv graph.Value) {
	if c.x[0].Type() == graph.Float32 {
		c.Extend(c.node, 3)
		return c.rows(n, c.Out(c.node, 1)), c.rows(n, c.Out(c.node, 2))
	}
	mean = c.ReduceMean(n.x, true, -1)
	return mean, c.deviation(c.Sub(n.x, mean))
}

// deviation is 1 / sqrt(mean(x^2) + epsilon).
func (c *vjp) deviation(x graph.Value) graph.Value {
	eps := c.num(float64(c.node.FloatAttr("epsilon", 1e-5)))
	return c.Reciprocal(c.Sqrt(c.Add(c.ReduceMean(c.Mul(x, x), true, -1), eps)))
}

// rmsNorm (Zhang and Sennrich, "Root Mean Square Layer Normalization", equation 4): layerNorm without the mean. ONNX Runtime's
// operator saves inv, ONNX's own does not.
func rmsNorm(c *vjp) {
	n, ok := c.normalised()
	if !ok {
		return
	}
	var inv graph.Value
	if c.node.Op == "SimplifiedLayerNormalization" && c.x[0].Type() == graph.Float32 {
		c.Extend(c.node, 2)
		inv = c.rows(n, c.Out(c.node, 1))
	} else {
		inv = c.deviation(n.x)
	}
	if c.o.Kernels && c.x[0].Type() == graph.Float32 && !n.flat {
		copy(c.dx, c.OpN("mdm.RMSNormGrad", 2, nil, n.dy, n.x, n.scale, inv))
		return
	}
	hat := c.Mul(n.x, inv)
	t := c.Mul(n.dy, hat)
	var dx graph.Value
	if c.want[0] {
		dx = c.Mul(c.Sub(c.Mul(n.dy, n.scale), c.Mul(hat, c.mean(n, t))), inv)
	}
	c.give(n, dx, t)
}
