package interpolant

import "github.com/mdmhost/mdmhost/framework/graph"

// Contracted is what is left of rows without their dropped positions, padded at the end. Slot i holds clean position s_t[i];
// gap i lies before slot i, gap n behind the row's n slots.
type Contracted struct {
	IDs    graph.Value // int64 [N, L]: x_t
	Real   graph.Value // bool [N, L]: slot i < n
	Masked graph.Value // bool [N, L]: slots that are masked
	Target graph.Value // int64 [N, L]: the true token of each slot, any behind the row
	Gap    graph.Value // bool [N, L+1]: gap i <= n
	Sum    graph.Value // float32 [N, L+1]: G_i, the speeds of what is dropped in gap i, differentiable by them

	rows Rows
	at   graph.Value // int64 [N, L]: s_t, 0 behind the row
}

// Contract writes the contraction without a loop: a present position j lands in slot c_j, a dropped one belongs to gap c_j, where
// c_j counts the present positions before j (methods/loflexmdm.md, section 4.7). bIn is float32 [N, L] or a scalar.
func (r Rows) Contract(s States, bIn graph.Value) Contracted {
	g := r.g
	slot := r.index()                   // [N, L+1]: 0, 1, ..., L
	position := g.Slice(slot, 1, 0, -1) // [N, L]
	present := g.Cast(s.Present, graph.Int64)
	before := g.Op("CumSum", []*graph.Attribute{graph.Int("exclusive", 1)}, present, g.Int(1)) // c_j, [N, L]
	n := g.ReduceSum(present, true, 1)                                                         // [N, 1]
	c := Contracted{rows: r, Real: g.Less(position, n), Gap: g.LessOrEqual(slot, n)}

	// What is not present is written behind the last slot, and cut off there.
	last := g.Slice(slot, 1, -1, graph.End) // [N, 1]: L
	end := []*graph.Attribute{graph.Int("axis", 1)}
	to := g.Select(s.Present, before, last)
	c.at = g.Slice(g.Op("ScatterElements", end, g.Zeros(slot), to, position), 1, 0, -1)
	c.Target = c.pick(r.Tokens)
	c.Masked = g.And(c.Real, g.Cast(c.pick(g.Cast(s.Masked, graph.Int64)), graph.Bool))
	c.IDs = g.Select(c.Real, g.Select(c.Masked, r.mask, c.Target), g.Int(r.pad))

	none := g.Cast(g.Zeros(slot), graph.Float32)
	c.Sum = g.ScatterAdd(none, before, g.Mul(g.Cast(s.Dropped, graph.Float32), bIn), 1)
	return c
}

// index counts 0, 1, ..., L in each row, int64 [N, L+1].
func (r Rows) index() graph.Value {
	g := r.g
	one := g.ExpandLike(g.Int(1), r.Tokens)
	first := g.Zeros(g.ReduceSum(r.Tokens, true, 1)) // [N, 1]
	return g.CumSum(g.Concat(1, first, one), 1)
}

// pick reads x [N, L] at the clean position of each slot.
func (c Contracted) pick(x graph.Value) graph.Value { return c.rows.g.GatherElements(x, c.at, 1) }
