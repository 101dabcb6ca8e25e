package ortartifact

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	functions["GatherGrad"] = gatherGrad
	functions["GatherElementsGrad"] = func(w *body) []string { // dy, shape, indices
		return []string{w.scatter(w.in(1), w.in(2), w.in(0), w.call.IntAttr("axis", 0))}
	}
	functions["GatherNDGrad"] = func(w *body) []string { // shape, indices, dy
		batch := []*graph.Attribute{graph.Int("batch_dims", w.call.IntAttr("batch_dims", 0))}
		return []string{w.putBack(w.in(0), w.with("GatherND", batch, w.numbered(w.in(0)), w.in(1)), w.in(2))}
	}
	functions["SliceGrad"] = func(w *body) []string { // dy, shape, starts, ends, axes, steps
		slice := []string{w.numbered(w.in(1)), w.in(2), w.in(3)}
		for i := 4; i < len(w.call.Inputs); i++ {
			slice = append(slice, w.in(i))
		}
		return []string{w.putBack(w.in(1), w.op("Slice", slice...), w.in(0))}
	}
	functions["ConcatTraining"] = concatTraining
	functions["SplitTraining"] = func(w *body) []string { // x, lengths
		n := &graph.Node{Op: "Split", Inputs: []string{w.in(0), w.in(1)}, Attributes: []*graph.Attribute{graph.Int("axis", w.call.IntAttr("axis", 0))}}
		for i := range w.call.Outputs {
			n.Outputs = append(n.Outputs, "part"+string(rune('a'+i)))
		}
		if len(n.Outputs) > 26 {
			return w.fail("it has %d outputs; expected at most 26", len(n.Outputs))
		}
		w.nodes = append(w.nodes, n)
		return n.Outputs
	}
	functions["ReduceSumTraining"] = func(w *body) []string {
		return []string{w.with("ReduceSum", []*graph.Attribute{graph.Int("keepdims", w.call.IntAttr("keepdims", 1)),
			graph.Int("noop_with_empty_axes", w.call.IntAttr("noop_with_empty_axes", 0))}, w.in(0), w.in(1))}
	}
	functions["Scale"] = func(w *body) []string { // scale_down: x / scale, else x scale
		op := "Mul"
		if w.call.IntAttr("scale_down", 0) != 0 {
			op = "Div"
		}
		return []string{w.op(op, w.in(0), w.cast(w.in(1), graph.Float32))}
	}
	functions["BroadcastGradientArgs"] = func(w *body) []string {
		return []string{w.broadcast(w.in(0), w.in(1)), w.broadcast(w.in(1), w.in(0))}
	}
}

// gatherGrad adds the rows of dy up at their indices. With the axes before and after the gathered one as one axis each, x is
// [before, n, after] and dy is [before, indices, after].
func gatherGrad(w *body) []string { // shape, indices, dy
	shape, axis := w.in(0), w.call.IntAttr("axis", 0)
	end := w.ints(math.MaxInt64)
	product := func(dims string) string { // 1 for none
		return w.with("ReduceProd", []*graph.Attribute{graph.Int("keepdims", 1)}, w.concat(w.ints(1), dims))
	}
	before := product(w.op("Slice", shape, w.ints(0), w.ints(axis)))
	rest := w.op("Slice", shape, w.ints(axis), end) // also for axes that count from the end
	n := w.op("Slice", rest, w.ints(0), w.ints(1))
	after := product(w.op("Slice", rest, w.ints(1), end))
	indices := w.op("Reshape", w.cast(w.in(1), graph.Int64), w.ints(1, -1, 1))
	updates := w.op("Reshape", w.in(2), w.concat(before, w.op("Reshape", w.op("Size", indices), w.ints(1)), after))
	all := w.op("Expand", indices, w.op("Shape", updates))
	return []string{w.op("Reshape", w.scatter(w.concat(before, n, after), all, updates, 1), shape)}
}

// numbered is a tensor of a shape whose elements are 0, 1, 2, ...: what an operator that moves elements makes of it says where
// each of them came from.
func (w *body) numbered(shape string) string {
	n := w.with("ReduceProd", []*graph.Attribute{graph.Int("keepdims", 0)}, shape)
	return w.op("Reshape", w.op("Range", w.int(0), n, w.int(1)), shape)
}

// putBack adds updates to zeros of a shape, at places as [body.numbered] counts them.
func (w *body) putBack(shape, places, updates string) string {
	n := w.with("ReduceProd", []*graph.Attribute{graph.Int("keepdims", 1)}, shape)
	return w.op("Reshape", w.scatter(n, w.vector(places), w.vector(updates), 0), shape)
}

// concatTraining is Concat; its second output is the length of each part.
func concatTraining(w *body) []string {
	axis := w.call.IntAttr("axis", 0)
	var parts, lengths []string
	for i := range w.call.Inputs {
		parts = append(parts, w.in(i))
	}
	joined := w.with("Concat", []*graph.Attribute{graph.Int("axis", axis)}, parts...)
	if !w.wants(1) {
		return []string{joined}
	}
	for _, p := range parts {
		lengths = append(lengths, w.op("Gather", w.op("Shape", p), w.ints(axis)))
	}
	return []string{joined, w.concat(lengths...)}
}

// broadcast lists the axes along which a shape is repeated to meet another: those that it lacks, and its ones.
func (w *body) broadcast(shape, other string) string {
	rank := func(s string) string { return w.op("Shape", s) } // [1]
	wide := w.op("Max", rank(shape), rank(other))
	padded := func(s string) string { // with zeros in front
		return w.concat(w.with("ConstantOfShape", []*graph.Attribute{graph.TensorValue("value", graph.OfInts("", []int64{1}, []int64{0}))}, w.op("Sub", wide, rank(s))), s)
	}
	s, o := padded(shape), padded(other)
	repeated := w.op("And", w.op("Less", s, o), w.op("Less", s, w.int(2)))
	return w.vector(w.op("NonZero", repeated))
}
