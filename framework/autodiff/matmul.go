package autodiff

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(matMul, "MatMul", "com.microsoft.FusedMatMul")
	on(gemm, "Gemm")
}

// matMul: Y = a op(A) op(B) gives dA = a dY B^T and dB = a A^T dY, summed over the batch dimensions that were broadcast.
func matMul(c *vjp) {
	a, b, dy := c.x[0], c.x[1], c.dy[0]
	if !c.ranked(a, b) {
		return
	}
	ta, tb := c.node.IntAttr("transA", 0) != 0, c.node.IntAttr("transB", 0) != 0
	alpha := float64(c.node.FloatAttr("alpha", 1))
	switch {
	case c.node.IntAttr("transBatchA", 0) != 0 || c.node.IntAttr("transBatchB", 0) != 0:
		c.unsupported("transposed batch dimensions have no gradient rule; write the model with Transpose and MatMul")
		return
	case a.Rank() == 1 || b.Rank() == 1:
		vectorMatMul(c)
		return
	case b.Rank() == 2 && !ta:
		linear(c, tb, float32(alpha))
		return
	}
	p := c.keptOrAgain(a, dy) // attention: A are the probabilities
	if c.want[0] {
		var d graph.Value
		if ta {
			d = c.product(b, dy, tb, true, alpha)
		} else {
			d = c.product(dy, b, false, !tb, alpha)
		}
		c.dx[0] = c.sumTo(d, a, batch(b))
	}
	if c.want[1] {
		var d graph.Value
		if tb {
			d = c.product(dy, p, true, ta, alpha)
		} else {
			d = c.product(p, dy, !ta, false, alpha)
		}
		c.dx[1] = c.sumTo(d, b, batch(a))
	}
}

// batch is the shape of a stack of matrices as a broadcast partner: only the stack counts.
func batch(v graph.Value) []graph.Dim {
	return slices.Concat(v.Shape()[:v.Rank()-2], []graph.Dim{graph.Known(1), graph.Known(1)})
}

// linear is the product with one matrix for all of A [..., K]: as matrices of all rows.
func linear(c *vjp, tb bool, alpha float32) {
	a, b := c.x[0], c.x[1]
	dy := c.Flat2(c.dy[0])
	if c.want[0] {
		c.dx[0] = c.ReshapeLike(c.scaled(dy, b, false, !tb, alpha), a)
	}
	switch {
	case !c.want[1]:
	case tb:
		c.dx[1] = c.scaled(dy, c.Flat2(a), true, false, alpha)
	default:
		c.dx[1] = c.scaled(c.Flat2(a), dy, true, false, alpha)
	}
}

// scaled is alpha op(x) op(y) of two matrices.
func (c *vjp) scaled(x, y graph.Value, tx, ty bool, alpha float32) graph.Value {
	flag := map[bool]int64{true: 1}
	attributes := []*graph.Attribute{graph.Int("transA", flag[tx]), graph.Int("transB", flag[ty])}
	if alpha != 1 {
		attributes = append(attributes, graph.Float("alpha", alpha))
	}
	return c.Op("Gemm", attributes, x, y)
}

// vectorMatMul: a vector operand is a matrix of one row or column.
func vectorMatMul(c *vjp) {
	a, b, dy := c.x[0], c.x[1], c.dy[0]
	wide := func(v graph.Value, axis int64) graph.Value {
		if v.Rank() == 1 {
			return c.Unsqueeze(v, axis)
		}
		return v
	}
	x, w := wide(a, 0), wide(b, 1)
	if b.Rank() == 1 {
		dy = c.Unsqueeze(dy, -1)
	}
	if a.Rank() == 1 {
		dy = c.Unsqueeze(dy, -2)
	}
	if c.want[0] {
		c.dx[0] = c.ReshapeLike(c.sumTo(c.product(dy, w, false, true, 1), x, batch(w)), a)
	}
	if c.want[1] {
		c.dx[1] = c.ReshapeLike(c.sumTo(c.product(x, dy, true, false, 1), w, batch(x)), b)
	}
}

// product is alpha op(x) op(y) of (batches of) matrices.
func (p *pass) product(x, y graph.Value, tx, ty bool, alpha float64) graph.Value {
	if p.o.Fused && (tx || ty || alpha != 1) && x.Type() == graph.Float32 {
		flag := map[bool]int64{true: 1}
		return p.Op(graph.Contrib+".FusedMatMul", []*graph.Attribute{graph.Int("transA", flag[tx]), graph.Int("transB", flag[ty]),
			graph.Float("alpha", float32(alpha))}, x, y)
	}
	if tx {
		x = p.transposed(x)
	}
	if ty {
		y = p.transposed(y)
	}
	return p.MatMulT(x, y, false, false, alpha)
}

// transposed exchanges the two last dimensions; of what is itself a transpose, it permutes the original.
func (p *pass) transposed(x graph.Value) graph.Value {
	n := p.Producer(x)
	if n == nil || graph.Key(n) != "Transpose" || n.IntsAttr("perm") == nil {
		return p.SwapLast(x)
	}
	perm := slices.Clone(n.IntsAttr("perm"))
	r := len(perm)
	perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	from := p.In(n, 0)
	if slices.IsSorted(perm) {
		return from
	}
	return p.Transpose(from, perm...)
}

// gemm: Y = alpha op(A) op(B) + beta C.
func gemm(c *vjp) {
	a, b, dy := c.x[0], c.x[1], c.dy[0]
	ta, tb := c.node.IntAttr("transA", 0) != 0, c.node.IntAttr("transB", 0) != 0
	alpha, beta := c.node.FloatAttr("alpha", 1), c.node.FloatAttr("beta", 1)
	switch {
	case !c.want[0]:
	case ta:
		c.dx[0] = c.scaled(b, dy, tb, true, alpha)
	default:
		c.dx[0] = c.scaled(dy, b, false, !tb, alpha)
	}
	switch {
	case !c.want[1]:
	case tb:
		c.dx[1] = c.scaled(dy, a, true, ta, alpha)
	default:
		c.dx[1] = c.scaled(a, dy, !ta, false, alpha)
	}
	if c.wants(2) {
		c.dx[2] = c.sumTo(dy, c.x[2], c.y[0].Shape())
		if beta != 1 {
			c.dx[2] = c.Mul(c.dx[2], c.num(float64(beta)))
		}
	}
}
