package autodiff

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	on(gather, "Gather")
	on(gatherElements, "GatherElements")
	on(gatherND, "GatherND")
	on(topK, "TopK")
}

// oneHotLimit is the size of the gathered axis up to which a product with one-hot rows is used; above, ScatterElements. Both are
// right with any number of threads and repeated indices, other than ScatterND with reduction add.
const oneHotLimit = 256

func gather(c *vjp) {
	x, ids := c.x[0], c.x[1]
	if !c.ranked(x, ids) {
		return
	}
	axis := int(c.node.IntAttr("axis", 0))
	if axis < 0 {
		axis += x.Rank()
	}
	dy := c.dy[0]
	if ids.Rank() == 0 {
		c.dx[0] = c.Mul(c.Unsqueeze(dy, int64(axis)), c.indicator(x, ids, axis))
		return
	}
	if ids.Rank() > 1 { // the dimensions of the indices as one
		sizes := []graph.Value{}
		for i := range x.Rank() {
			if i == axis {
				sizes = append(sizes, c.Ints(-1))
			} else {
				sizes = append(sizes, c.size(x, i))
			}
		}
		shape := slices.Clone(x.Shape())
		shape[axis] = graph.Volume(ids.Shape())
		dy = c.Refine(c.Op("Reshape", nil, dy, c.Concat(0, sizes...)), shape...)
		ids = c.Op("Reshape", nil, ids, c.Ints(-1))
	}
	c.dx[0] = c.place(dy, ids, x, axis)
}

// indicator is 1 at one index of an axis and 0 elsewhere, in a shape that broadcasts against x.
func (p *pass) indicator(x, id graph.Value, axis int) graph.Value {
	n := p.Op("Reshape", nil, p.size(x, axis), p.Ints())
	id = p.Op("Mod", nil, p.Cast(id, graph.Int64), n) // negative ones count from the end
	hit := p.Cast(p.Equal(p.Range(n), id), x.Type())
	ones := slices.Repeat([]int64{1}, x.Rank())
	ones[axis] = -1
	return p.Op("Reshape", nil, hit, p.Ints(ones...))
}

// place adds the slices of d along an axis up in the shape of x, at the places that the indices [N] name.
func (p *pass) place(d, ids, x graph.Value, axis int) graph.Value {
	perm := make([]int64, 0, x.Rank()) // the axis first
	perm = append(perm, int64(axis))
	for i := range x.Rank() {
		if i != axis {
			perm = append(perm, int64(i))
		}
	}
	back := make([]int64, len(perm))
	rest := make([]graph.Dim, 0, x.Rank()) // of x, in that order
	for i, a := range perm {
		back[a] = int64(i)
		rest = append(rest, x.Dim(int(a)))
	}
	if axis > 0 {
		d = p.Transpose(d, perm...)
	}
	flat := p.Op("Flatten", []*graph.Attribute{graph.Int("axis", 1)}, d) // [N, R]
	sum := p.sumRows(flat, ids, x.Dim(axis), p.size(x, axis))
	if x.Rank() == 2 {
		p.Refine(sum, rest...)
	} else {
		sizes := make([]graph.Value, len(perm))
		for i, a := range perm {
			sizes[i] = p.size(x, int(a))
		}
		sum = p.Refine(p.Op("Reshape", nil, sum, p.Concat(0, sizes...)), rest...)
	}
	if axis > 0 {
		sum = p.Transpose(sum, back...)
	}
	return sum
}

// sumRows is [V, R], whose row v is the sum of the rows of d [N, R] with index v.
func (p *pass) sumRows(d, ids graph.Value, v graph.Dim, size graph.Value) graph.Value {
	ids = p.Cast(ids, graph.Int64)
	if v.IsKnown() && v.Size <= oneHotLimit && (d.Type() == graph.Float32 || d.Type() == graph.Float64) {
		all := make([]int64, v.Size)
		for i := range all {
			all[i] = int64(i)
		}
		at := p.Unsqueeze(p.Op("Mod", nil, ids, p.Int(v.Size)), -1) // negative ones count from the end
		hot := p.Cast(p.Equal(at, p.Ints(all...)), d.Type())        // [N, V]
		return p.Gemm(hot, d, graph.Value{}, true, false)
	}
	width := p.size(d, 1)
	zeros := p.Expand(p.Scalar(0, d), p.Concat(0, size, width))
	at := p.Expand(p.Unsqueeze(ids, -1), p.Concat(0, p.Ints(1), width)) // [N, R]
	return p.ScatterAdd(zeros, at, d, 0)
}

func gatherElements(c *vjp) {
	c.dx[0] = c.ScatterAdd(c.Zeros(c.x[0]), c.x[1], c.dy[0], c.node.IntAttr("axis", 0))
}

func topK(c *vjp) {
	c.Extend(c.node, 2)
	c.dx[0] = c.ScatterAdd(c.Zeros(c.x[0]), c.Out(c.node, 1), c.dy[0], c.node.IntAttr("axis", -1))
}

// gatherND: an index tuple becomes the number of a row of x, seen as a matrix [rows, the rest].
func gatherND(c *vjp) {
	x := c.x[0]
	ids, depth, ok := c.rowNumbers(x, c.x[1], int(c.node.IntAttr("batch_dims", 0)))
	if !ok {
		return
	}
	rest := make([]graph.Value, 0, x.Rank())
	rest = append(rest, c.Ints(-1))
	for i := depth; i < x.Rank(); i++ {
		rest = append(rest, c.size(x, i))
	}
	width := c.Ints(1)
	for _, v := range rest[1:] {
		width = c.Mul(width, v)
	}
	rows := c.Op("Reshape", nil, c.dy[0], c.Concat(0, c.Ints(-1), width)) // [N, R]
	count := c.Ints(1)
	for i := range depth {
		count = c.Mul(count, c.size(x, i))
	}
	total := graph.Volume(x.Shape()[:depth])
	c.dx[0] = c.ReshapeLike(c.sumRows(rows, ids, total, count), x)
}

// rowNumbers turns index tuples [..., k] into [N] numbers of the rows that the first batch + k dimensions of x make, and says
// how many dimensions those are.
func (c *vjp) rowNumbers(x, tuples graph.Value, batch int) (ids graph.Value, depth int, ok bool) {
	if !c.ranked(x, tuples) {
		return ids, 0, false
	}
	k := tuples.Dim(-1)
	if !k.IsKnown() {
		c.unsupported("the length of the index tuples %s is not known before the run; export with a constant one", tuples)
		return ids, 0, false
	}
	depth = batch + int(k.Size)
	for i := range depth {
		n := c.size(x, i)
		var at graph.Value
		if i < batch {
			shape := slices.Repeat([]int64{1}, tuples.Rank()-1)
			shape[i] = -1
			at = c.Op("Reshape", nil, c.Range(c.Op("Reshape", nil, n, c.Ints())), c.Ints(shape...))
		} else {
			at = c.Gather(tuples, c.Int(int64(i-batch)), -1)
			at = c.Op("Mod", nil, at, n) // negative ones count from the end
		}
		if i == 0 {
			ids = at
		} else {
			ids = c.Add(c.Mul(ids, n), at)
		}
	}
	return c.Op("Reshape", nil, ids, c.Ints(-1)), depth, true
}
