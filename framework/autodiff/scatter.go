package autodiff

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(scatterElements, "ScatterElements")
	on(scatterND, "ScatterND")
	on(oneHot, "OneHot")
}

// scatterElements: what was written over gets nothing, what was added to gets all.
func scatterElements(c *vjp) {
	axis := graph.Int("axis", c.node.IntAttr("axis", 0))
	dy, ids := c.dy[0], c.x[1]
	switch c.node.TextAttr("reduction", "none") {
	case "none":
		if c.want[0] {
			c.dx[0] = c.Op("ScatterElements", []*graph.Attribute{axis}, dy, ids, c.Zeros(c.x[2]))
		}
	case "add":
		c.dx[0] = dy
	default:
		c.unsupported("the reduction %q has no gradient rule; expected none or add", c.node.TextAttr("reduction", "none"))
		return
	}
	if c.want[2] {
		c.dx[2] = c.Op("GatherElements", []*graph.Attribute{axis}, dy, ids)
	}
}

// scatterND is the same with index tuples.
func scatterND(c *vjp) {
	dy, ids := c.dy[0], c.x[1]
	switch c.node.TextAttr("reduction", "none") {
	case "none":
		if c.want[0] {
			c.dx[0] = c.Op("ScatterND", nil, dy, ids, c.Zeros(c.x[2]))
		}
	case "add":
		c.dx[0] = dy
	default:
		c.unsupported("the reduction %q has no gradient rule; expected none or add", c.node.TextAttr("reduction", "none"))
		return
	}
	if c.want[2] {
		c.dx[2] = c.Op("GatherND", nil, dy, ids)
	}
}

// oneHot: the values are [off, on].
func oneHot(c *vjp) {
	hot := c.Op("OneHot", c.node.Attributes, c.x[0], c.x[1], c.Cast(c.Ints(0, 1), c.x[2].Type()))
	all, hit := c.ReduceSum(c.dy[0], false), c.ReduceSum(c.Mul(c.dy[0], hot), false)
	c.dx[2] = c.Concat(0, c.Unsqueeze(c.Sub(all, hit), 0), c.Unsqueeze(hit, 0))
}
