package graph

import "math"

// reduce writes a reduction over axes (none: all of them), whatever way this opset takes axes.
func (b *Builder) reduce(op string, x Value, keep bool, axes []int64) Value {
	attributes := []*Attribute{Int("keepdims", 0)}
	if keep {
		attributes[0].I = 1
	}
	switch {
	case len(axes) == 0:
		return b.Op(op, attributes, x)
	case op != "ReduceSum" && b.opset < 18:
		return b.Op(op, append(attributes, Ints("axes", axes...)), x)
	}
	return b.Op(op, attributes, x, b.Ints(axes...))
}

// ReduceSum adds up over axes, which stay with size 1 if keep is set. Without axes it adds up everything. So do its sisters.
func (b *Builder) ReduceSum(x Value, keep bool, axes ...int64) Value {
	return b.reduce("ReduceSum", x, keep, axes)
}

// ReduceMean takes the mean over axes.
func (b *Builder) ReduceMean(x Value, keep bool, axes ...int64) Value {
	return b.reduce("ReduceMean", x, keep, axes)
}

// ReduceMax takes the maximum over axes.
func (b *Builder) ReduceMax(x Value, keep bool, axes ...int64) Value {
	return b.reduce("ReduceMax", x, keep, axes)
}

// ReduceMin takes the minimum over axes.
func (b *Builder) ReduceMin(x Value, keep bool, axes ...int64) Value {
	return b.reduce("ReduceMin", x, keep, axes)
}

// RowSum adds up all but the first dimension: [B, ...] to [B].
func (b *Builder) RowSum(x Value) Value {
	if b.err != nil {
		return Value{}
	}
	if !x.HasRank() {
		return b.Fail("summing the rows of %s: its rank is not known; reshape it first", x)
	}
	if x.Rank() < 2 {
		return x
	}
	axes := make([]int64, x.Rank()-1)
	for i := range axes {
		axes[i] = int64(i + 1)
	}
	return b.ReduceSum(x, false, axes...)
}

// Transpose permutes the dimensions: dimension i of the result is dimension perm[i] of x.
func (b *Builder) Transpose(x Value, perm ...int64) Value {
	return b.Op("Transpose", []*Attribute{Ints("perm", perm...)}, x)
}

// SwapLast exchanges the two last dimensions.
func (b *Builder) SwapLast(x Value) Value {
	if b.err != nil {
		return Value{}
	}
	r := int64(x.Rank())
	if r < 2 {
		return b.Fail("transposing %s: expected at least two dimensions", x)
	}
	perm := make([]int64, r)
	for i := range perm {
		perm[i] = int64(i)
	}
	perm[r-1], perm[r-2] = r-2, r-1
	return b.Transpose(x, perm...)
}

// Reshape gives x another shape. A single dimension whose size is not known before the run is left to the runtime; where
// there are more, they are taken from x by [Builder.ReshapeLike] or [Builder.ReshapeTo].
func (b *Builder) Reshape(x Value, shape ...Dim) Value {
	if b.err != nil {
		return Value{}
	}
	if x.HasRank() && SameShape(x.Shape(), shape) {
		return x
	}
	sizes, open := make([]int64, len(shape)), 0
	for i, d := range shape {
		sizes[i] = d.Size
		switch {
		case d.Size == 0 && !x.Dim(i).same(d):
			return b.Fail("reshaping %s to %s: the operator would copy dimension %d in the place of the size 0; use ReshapeTo", x, shapeText(shape), i)
		case d.IsKnown():
		case i < x.Rank() && x.Dim(i).same(d):
			sizes[i] = 0 // copied from x
		default:
			sizes[i] = -1
			open++
		}
	}
	if open > 1 {
		return b.Fail("reshaping %s to %s: more than one dimension is open; use ReshapeLike", x, shapeText(shape))
	}
	out := b.Op("Reshape", nil, x, b.Ints(sizes...))
	if b.err == nil {
		for i, d := range shape { // a name that the caller gives is better than one that was derived
			if !d.unknown() && !out.info.shape[i].IsKnown() {
				out.info.shape[i] = d
			}
		}
	}
	return out
}

// ReshapeLike gives x the shape of like, whatever it is at the run.
func (b *Builder) ReshapeLike(x, like Value) Value {
	if b.err != nil || x.HasRank() && like.HasRank() && SameShape(x.Shape(), like.Shape()) {
		return x
	}
	open := 0
	for i, d := range like.Shape() {
		if !d.IsKnown() && !(i < x.Rank() && x.Dim(i).same(d)) {
			open++
		}
	}
	if like.HasRank() && open <= 1 {
		return b.Reshape(x, like.Shape()...)
	}
	return b.ReshapeTo(x, b.Shape(like))
}

// ReshapeTo gives x the shape that the int64 vector holds at the run.
func (b *Builder) ReshapeTo(x, shape Value) Value { return b.Op("Reshape", nil, x, shape) }

// Flat2 is x as a matrix whose rows are the last dimension: [..., D] to [N, D].
func (b *Builder) Flat2(x Value) Value {
	if b.err != nil || x.Rank() == 2 {
		return x
	}
	last := x.Dim(-1)
	if x.Rank() > 0 && last.IsKnown() {
		return b.Reshape(x, Volume(x.Shape()[:x.Rank()-1]), last)
	}
	return b.Op("Flatten", []*Attribute{Int("axis", int64(x.Rank()-1))}, x)
}

// Squeeze removes dimensions of size 1.
func (b *Builder) Squeeze(x Value, axes ...int64) Value {
	return b.Op("Squeeze", nil, x, b.Ints(axes...))
}

// Unsqueeze adds dimensions of size 1; axes count in the result.
func (b *Builder) Unsqueeze(x Value, axes ...int64) Value {
	return b.Op("Unsqueeze", nil, x, b.Ints(axes...))
}

// Expand broadcasts x to a shape held by an int64 vector.
func (b *Builder) Expand(x, shape Value) Value { return b.Op("Expand", nil, x, shape) }

// ExpandLike broadcasts x to the shape of like.
func (b *Builder) ExpandLike(x, like Value) Value {
	if b.err != nil || x.HasRank() && like.HasRank() && SameShape(x.Shape(), like.Shape()) {
		return x
	}
	return b.Expand(x, b.Shape(like))
}

// Shape is the shape of x as an int64 vector: a constant where it is known.
func (b *Builder) Shape(x Value) Value {
	if b.err == nil && x.HasRank() {
		sizes := make([]int64, x.Rank())
		for i, d := range x.Shape() {
			if !d.IsKnown() {
				return b.Op("Shape", nil, x)
			}
			sizes[i] = d.Size
		}
		return b.Ints(sizes...)
	}
	return b.Op("Shape", nil, x)
}

// Concat joins along an axis.
func (b *Builder) Concat(axis int64, x ...Value) Value {
	return b.Op("Concat", []*Attribute{Int("axis", axis)}, x...)
}

// Split cuts x along an axis into parts of the given sizes.
func (b *Builder) Split(x Value, axis int64, sizes ...int64) []Value {
	return b.OpN("Split", len(sizes), []*Attribute{Int("axis", axis)}, x, b.Ints(sizes...))
}

// Slice takes start <= i < end along one axis. Negative bounds count from the end; [End] is the end.
func (b *Builder) Slice(x Value, axis, start, end int64) Value {
	return b.Op("Slice", nil, x, b.Ints(start), b.Ints(end), b.Ints(axis))
}

// End is a bound of [Builder.Slice] that lies at the end of every tensor.
const End = math.MaxInt64

// Gather picks along an axis by int64 indices.
func (b *Builder) Gather(x, indices Value, axis int64) Value {
	return b.Op("Gather", []*Attribute{Int("axis", axis)}, x, indices)
}

// GatherElements picks one element of the axis for each element of indices, which has the rank of x.
func (b *Builder) GatherElements(x, indices Value, axis int64) Value {
	return b.Op("GatherElements", []*Attribute{Int("axis", axis)}, x, indices)
}

// ScatterAdd adds updates to x at indices along an axis; equal indices add up (ScatterElements). It is exact with any number of
// threads, other than ScatterND with reduction add.
func (b *Builder) ScatterAdd(x, indices, updates Value, axis int64) Value {
	return b.Op("ScatterElements", []*Attribute{Int("axis", axis), String("reduction", "add")}, x, indices, updates)
}

// CumSum adds up along an axis.
func (b *Builder) CumSum(x Value, axis int64) Value { return b.Op("CumSum", nil, x, b.Int(axis)) }

// Zeros is a tensor of zeros with the shape and type of like.
func (b *Builder) Zeros(like Value) Value { return b.ExpandLike(b.Scalar(0, like), like) }

// Range counts 0, 1, ..., n-1 for an int64 scalar n.
func (b *Builder) Range(n Value) Value { return b.Op("Range", nil, b.Int(0), n, b.Int(1)) }

// OneHot is 1 at the id and 0 elsewhere, float32 [..., v].
func (b *Builder) OneHot(ids Value, v int64) Value {
	all := make([]int64, v)
	for i := range all {
		all[i] = int64(i)
	}
	return b.Cast(b.Equal(b.Unsqueeze(ids, -1), b.Ints(all...)), Float32)
}
