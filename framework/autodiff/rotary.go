package autodiff

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(func(c *vjp) { rotary(c, 2) }, "RotaryEmbedding")
	on(func(c *vjp) { rotary(c, 3) }, "com.microsoft.RotaryEmbedding")
}

// rotary: a rotation's transpose is the rotation by the opposite angle (Su et al., "RoFormer", equation 15). sin is the input
// with the sines.
func rotary(c *vjp, sin int) {
	in := slices.Clone(c.x)
	in[0], in[sin] = c.dy[0], c.Neg(in[sin])
	c.dx[0] = c.Op(graph.Key(c.node), c.node.Attributes, in...)
}
