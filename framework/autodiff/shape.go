package autodiff

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(func(c *vjp) { c.dx[0] = c.ReshapeLike(c.dy[0], c.x[0]) }, "Reshape", "Squeeze", "Unsqueeze", "Flatten")
	on(transpose, "Transpose")
	on(expand, "Expand")
	on(tile, "Tile")
	on(concat, "Concat")
	on(split, "Split")
	on(dropout, "Dropout")
	on(cumSum, "CumSum")
	on(func(c *vjp) { // a mask
		c.dx[0] = c.Op("Trilu", c.node.Attributes, c.dy[0], c.in(1))
	}, "Trilu")
}

func transpose(c *vjp) {
	perm := c.node.IntsAttr("perm")
	if perm == nil {
		c.dx[0] = c.Op("Transpose", nil, c.dy[0])
		return
	}
	back := make([]int64, len(perm))
	for i, a := range perm {
		back[a] = int64(i)
	}
	c.dx[0] = c.Transpose(c.dy[0], back...)
}

func expand(c *vjp) {
	if !c.ranked(c.x[0], c.y[0]) {
		return
	}
	target, ok := c.x[1].Ints()
	if !ok { // sizes that are known at the run only
		target = slices.Repeat([]graph.Dim{{Size: -1}}, c.y[0].Rank())
	}
	c.dx[0] = c.sumTo(c.dy[0], c.x[0], target)
}

// tile: dY as [r0, d0, r1, d1, ...], summed over the repetitions.
func tile(c *vjp) {
	x, repeats := c.x[0], c.x[1]
	if !c.ranked(x) {
		return
	}
	sizes := c.Concat(1, c.Unsqueeze(repeats, 1), c.Unsqueeze(c.Shape(x), 1)) // [rank, 2]
	axes := make([]int64, x.Rank())
	for i := range axes {
		axes[i] = int64(2 * i)
	}
	c.dx[0] = c.ReduceSum(c.ReshapeTo(c.dy[0], c.Op("Reshape", nil, sizes, c.Ints(int64(2*x.Rank())))), false, axes...)
}

func concat(c *vjp) {
	if !c.ranked(c.x...) {
		return
	}
	axis := c.node.IntAttr("axis", 0)
	sizes := make([]graph.Value, len(c.x))
	for i, v := range c.x {
		sizes[i] = c.size(v, int(axis))
	}
	if len(c.x) == 1 {
		c.dx[0] = c.dy[0]
		return
	}
	copy(c.dx, c.OpN("Split", len(c.x), []*graph.Attribute{graph.Int("axis", axis)}, c.dy[0], c.Concat(0, sizes...)))
}

func split(c *vjp) {
	parts := slices.Clone(c.dy)
	for i, d := range parts {
		if !d.Given() {
			parts[i] = c.Zeros(c.y[i])
		}
	}
	c.dx[0] = c.Concat(c.node.IntAttr("axis", 0), parts...)
}

// dropout in its form without randomness.
func dropout(c *vjp) {
	if mode := c.in(2); mode.Given() {
		if t := mode.Content(); t == nil || slices.ContainsFunc(t.Raw, func(b byte) bool { return b != 0 }) || len(t.Raw) == 0 && len(t.Int32s) != 1 || len(t.Int32s) == 1 && t.Int32s[0] != 0 {
			c.unsupported("it may drop at random; export the model in evaluation mode")
			return
		}
	}
	c.dx[0] = c.dy[0]
}

func cumSum(c *vjp) {
	c.dx[0] = c.Op("CumSum", []*graph.Attribute{graph.Int("exclusive", c.node.IntAttr("exclusive", 0)), graph.Int("reverse", 1-c.node.IntAttr("reverse", 0))},
		c.dy[0], c.x[1])
}
