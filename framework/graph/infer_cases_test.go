package graph

// inferenceCase is a small graph; every value in it is compared with the runtime.
type inferenceCase struct {
	name  string
	from  int64 // opset
	least int64 // of the named sizes
	build func(b *Builder)
	feed  map[string]func(of map[string]int64) *Tensor
}

// floats is an input of the given shape.
func floats(b *Builder, name string, of ...any) Value { return b.Input(name, Float32, Dims(of...)...) }

// ids is an int64 input of zeros.
func ids(b *Builder, name string, of ...any) Value { return b.Input(name, Int64, Dims(of...)...) }

// shapeFeed feeds an int64 vector whose contents inference cannot know.
func shapeFeed(of func(map[string]int64) []int64) map[string]func(map[string]int64) *Tensor {
	return map[string]func(map[string]int64) *Tensor{"shape": func(sizes map[string]int64) *Tensor {
		v := of(sizes)
		return OfInts("shape", []int64{int64(len(v))}, v)
	}}
}

var inferenceCases = []inferenceCase{
	{name: "elementwise", build: func(b *Builder) {
		x, y := floats(b, "x", "B", "L", 3), floats(b, "y", "L", 1)
		for _, op := range []string{"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"} {
			b.Op(op, nil, x, y)
		}
		b.Op("Mod", []*Attribute{Int("fmod", 1)}, x, y)
		b.Min(x, y, b.Float(2))
		b.Pow(x, b.Int(2))
	}},
	{name: "unary", build: func(b *Builder) {
		x := floats(b, "x", "B", "past + 1", 2)
		for _, op := range []string{"Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Relu", "Identity", "Trilu", "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Tanh", "Sigmoid",
			"Softplus", "Sin", "Cos", "Softmax", "LogSoftmax", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Softsign", "Tan", "Atan", "IsNaN", "IsInf",
			"com.microsoft.QuickGelu", "com.microsoft.FastGelu"} {
			b.Op(op, nil, x)
		}
		b.Gelu(x)
		b.CumSum(x, -2)
		b.Softmax(x, 1)
		b.Clip(x, b.Float(-1), Value{})
		b.Clip(x, Value{}, b.Float(1))
		b.OpN("Dropout", 2, nil, x)
		b.Keep(b.Greater(x, b.Float(0)), x)
	}},
	{name: "mish", from: 18, build: func(b *Builder) { b.Op("Mish", nil, floats(b, "x", "B")) }},
	{name: "logic", build: func(b *Builder) {
		x, y := b.Input("x", Bool, Dims("B", 1)...), b.Input("y", Bool, Dims("L")...)
		b.And(x, y)
		b.Or(x, y)
		b.Op("Xor", nil, x, y)
		b.Not(x)
		b.Select(x, b.Cast(y, Float32), b.Float(1))
		b.Op("CastLike", nil, x, b.Int(1))
	}},
	{name: "matmul", build: func(b *Builder) {
		x, w := floats(b, "x", "B", "L", 3), floats(b, "w", 3, 4)
		h := b.MatMul(x, w)
		b.MatMulT(h, h, false, true, 0.5)
		b.MatMulT(h, h, true, false, 1)
		b.Op("com.microsoft.FusedMatMul", []*Attribute{Int("transA", 0), Int("transB", 1), Float("alpha", 2)}, h, h)
		v := floats(b, "v", 3)
		b.MatMul(x, v)
		b.MatMul(v, w)
		b.MatMul(v, v)
		b.MatMul(floats(b, "many", 2, 1, "L", 3), b.SwapLast(x))
	}},
	{name: "gemm", build: func(b *Builder) {
		x, w := floats(b, "x", "B", 3), floats(b, "w", 3, 4)
		b.Gemm(x, w, Value{}, false, false)
		b.Gemm(x, w, floats(b, "bias", 4), false, false)
		b.Gemm(x, floats(b, "wt", 4, 3), b.Float(1), false, true)
		b.Gemm(x, x, Value{}, true, false)
		b.Op("Einsum", []*Attribute{String("equation", "bi,ij->jb")}, x, w)
		b.Op("Einsum", []*Attribute{String("equation", "bi, bj -> ij")}, x, x)
	}},
	{name: "norm", build: func(b *Builder) {
		x, g := floats(b, "x", "B", "L", 8), floats(b, "g", 8)
		b.LayerNormalization(x, g, floats(b, "b", 8), 1e-5)
		b.LayerNormalization(x, g, Value{}, 1e-5)
		b.Extend(b.Nodes()[0], 3)
		b.RMSNormalization(x, g, 1e-6)
		b.OpN("SimplifiedLayerNormalization", 2, []*Attribute{Int("axis", -1)}, x, g)
	}},
	{name: "norm of float64", build: func(b *Builder) {
		x, g := b.Input("x", Float64, Dims("B", 8)...), b.Input("g", Float64, Known(8))
		b.OpN("LayerNormalization", 3, []*Attribute{Int("axis", -1)}, x, g)
	}},
	{name: "rotary", build: func(b *Builder) {
		x := floats(b, "x", "B", 2, "L", 8)
		table := floats(b, "table", 9, 4)
		b.Op("com.microsoft.RotaryEmbedding", nil, x, ids(b, "positions", "B", "L"), table, table)
	}},
	{name: "integers", build: func(b *Builder) {
		x := b.OpN("DynamicQuantizeLinear", 3, nil, floats(b, "x", "B", "L", 8))
		w := b.Cast(floats(b, "w", 8, 5), Uint8)
		b.Op("MatMulInteger", nil, x[0], w, x[2])
		b.Op("MatMulInteger", nil, x[0], w)
	}},
	{name: "attention", from: 23, build: func(b *Builder) {
		x := floats(b, "x", "B", 2, "L", 8)
		b.Op("Attention", nil, x, x, x)
		b.Op("Attention", []*Attribute{Int("is_causal", 1)}, x, floats(b, "k", "B", 2, "M", 8), floats(b, "v", "B", 2, "M", 6))
		y := floats(b, "y", "B", "L", 24)
		kv := floats(b, "kv", "B", "M", 12)
		b.Op("Attention", []*Attribute{Int("q_num_heads", 4), Int("kv_num_heads", 2)}, y, kv, kv)
		b.Op("RotaryEmbedding", nil, x, floats(b, "cos", "B", "L", 4), floats(b, "sin", "B", "L", 4))
		b.Op("RMSNormalization", nil, x, floats(b, "g", 8))
	}},
	{name: "reduce", build: func(b *Builder) {
		x := floats(b, "x", "B", "L", 3)
		for _, op := range []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceL1", "ReduceLogSumExp", "ReduceLogSum"} {
			for _, axes := range [][]int64{nil, {-1}, {0, 2}, {1}} {
				b.reduce(op, x, true, axes)
				b.reduce(op, x, false, axes)
			}
		}
		b.Op("ReduceSum", []*Attribute{Int("noop_with_empty_axes", 1)}, x)
		b.RowSum(x)
		b.RowSum(floats(b, "row", "B"))
		for _, op := range []string{"ArgMax", "ArgMin"} {
			b.Op(op, []*Attribute{Int("axis", 1), Int("keepdims", 0)}, x)
			b.Op(op, []*Attribute{Int("axis", -1)}, x)
		}
	}},
	{name: "gather", build: func(b *Builder) {
		x, at := floats(b, "x", "B", "L", 3), ids(b, "at", "M", 2)
		b.Gather(x, at, 0)
		b.Gather(x, at, -2)
		b.Gather(x, b.Int(0), 1)
		b.GatherElements(x, ids(b, "each", "B", "L", 2), -1)
		b.ScatterAdd(x, ids(b, "into", "B", "L", 2), floats(b, "new", "B", "L", 2), 2)
		b.Op("GatherND", nil, x, at)
		b.Op("GatherND", []*Attribute{Int("batch_dims", 1)}, x, ids(b, "batched", "B", "M", 1))
		b.Op("ScatterND", nil, x, at, floats(b, "rows", "M", 3))
		b.OpN("TopK", 2, []*Attribute{Int("axis", 2)}, x, b.Ints(2))
		b.Op("OneHot", nil, at, b.Int(5), b.Floats([]int64{2}, []float32{0, 1}))
		b.Op("OneHot", []*Attribute{Int("axis", 0)}, at, b.Int(5), b.Floats([]int64{2}, []float32{0, 1}))
		b.Op("NonZero", nil, x)
		b.OneHot(at, 4)
	}},
	{name: "reshape", build: func(b *Builder) {
		x := floats(b, "x", "B", "L", 6)
		flat := b.Flat2(x)
		b.ReshapeLike(flat, x)
		b.Reshape(x, Named("B"), Named("L"), Known(2), Known(3))
		b.Reshape(flat, Known(-1))
		b.Reshape(x, Named("B"), Known(-1))
		b.Op("Reshape", nil, x, b.Ints(0, 0, 2, -1))
		b.Op("Reshape", nil, x, b.Ints(3, -1, 2))
		b.Op("Flatten", []*Attribute{Int("axis", -1)}, x)
		b.Op("Flatten", nil, x)
		b.Op("Flatten", []*Attribute{Int("axis", 0)}, x)
		b.Flat2(floats(b, "wild", "B", "L", "M"))
		b.Flat2(floats(b, "odd", "past + 1", "B", 2))
		b.Transpose(x, 2, 0, 1)
		b.Op("Transpose", nil, x)
		b.SwapLast(x)
		b.Op("Tile", nil, x, b.Ints(1, 2, 3))
		u := b.Unsqueeze(x, 0, -1)
		b.Squeeze(u, -1, 0)
		b.Op("Squeeze", nil, floats(b, "one", 1, 3))
		b.ReshapeTo(x, b.Shape(flat))
	}},
	{name: "reshape to what the run says", build: func(b *Builder) {
		x := floats(b, "x", "B", "L")
		shape := b.Input("shape", Int64, Known(3))
		y := b.ReshapeTo(x, shape)
		b.Add(y, y)
		b.ReduceSum(y, false, 1)
		b.Reshape(y, y.Dim(0), Known(-1))
		b.ReshapeLike(b.Neg(x), y)
	}, feed: shapeFeed(func(of map[string]int64) []int64 { return []int64{of["L"], 1, of["B"]} })},
	{name: "expand", build: func(b *Builder) {
		x := floats(b, "x", "B", 1)
		like := floats(b, "like", "B", "L")
		b.ExpandLike(x, like)
		b.Expand(x, b.Ints(2, 1, 5))
		b.Zeros(like)
		b.Expand(b.Float(3), b.Shape(like))
		b.Op("ConstantOfShape", nil, b.Shape(like))
		b.Op("ConstantOfShape", []*Attribute{TensorValue("value", OfInts("", []int64{1}, []int64{-1}))}, b.Ints(3))
	}},
	{name: "join", build: func(b *Builder) {
		x, y := floats(b, "x", "B", "L", 6), floats(b, "y", "B", "M", 6)
		both := b.Concat(1, x, y)
		b.Concat(-1, x, x, x)
		b.Add(both, both)
		b.Split(x, 2, 1, 2, 3)
		b.OpN("Split", 2, split(b, 2), b.Concat(1, x, x))
		for _, s := range [][3]int64{{0, 0, 1}, {2, 1, End}, {2, -2, End}, {2, 1, -1}, {2, 4, 2}, {1, 0, End}, {1, 1, End}, {1, 0, -1}, {1, -1, End}} {
			b.Slice(x, s[0], s[1], s[2])
		}
		b.Op("Slice", nil, x, b.Ints(5), b.Ints(-100), b.Ints(2), b.Ints(-2))
		b.Op("Slice", nil, x, b.Ints(1, 0), b.Ints(6, 5), b.Ints(-1, 1), b.Ints(3, 1))
		b.Op("Slice", nil, x, b.Ints(0), b.Gather(b.Shape(x), b.Ints(1), 0), b.Ints(1))
		b.Op("Pad", nil, x, b.Ints(0, 1, 0, 0, 2, 3))
		b.Op("Pad", nil, x, b.Ints(0, 0, -1, 0, 0, 0), b.Float(1))
	}},
	{name: "pad of named axes", from: 18, build: func(b *Builder) {
		b.Op("Pad", nil, floats(b, "x", "B", "L"), b.Ints(1, 2), b.Float(1), b.Ints(-1))
	}},
	{name: "shapes that the graph computes", least: 2, build: func(b *Builder) {
		x := floats(b, "x", "B", "L", 6)
		shape := b.Shape(x)
		n, l := b.Gather(shape, b.Int(0), 0), b.Gather(shape, b.Ints(1), 0)
		rows := b.Mul(b.Unsqueeze(n, 0), l)
		b.ReshapeTo(x, b.Concat(0, rows, b.Ints(-1)))
		b.ReshapeTo(x, b.Concat(0, b.Unsqueeze(n, 0), b.Ints(-1), b.Ints(2), b.Ints(3)))
		more := b.Sub(b.Add(l, b.Ints(3)), b.Ints(5)) // L - 2
		b.Range(b.Squeeze(b.Add(more, b.Ints(1)), 0))
		b.Op("Range", nil, b.Int(1), b.Squeeze(l, 0), b.Int(1))
		b.Range(b.Cast(b.Cast(b.Squeeze(b.Div(rows, l), 0), Int32), Int64))
		b.Slice(shape, 0, 1, End)
		b.Slice(shape, 0, -1, End)
		b.Op("Shape", []*Attribute{Int("start", 1)}, x)
		b.Op("Shape", []*Attribute{Int("start", -2), Int("end", -1)}, x)
		b.Op("Expand", nil, b.Float(0), b.Concat(0, l, b.Slice(shape, 0, 0, 1)))
		b.Op("Size", nil, x)
		b.Div(b.Op("Size", nil, x), b.Int(6))
		b.Min(b.Int(4), b.Int(9))
		b.Mul(l, b.Ints(-1))
	}},
	{name: "constants", build: func(b *Builder) {
		b.Op("Constant", []*Attribute{Int("value_int", 3)})
		b.Op("Constant", []*Attribute{Ints("value_ints", 3, -4)})
		b.Op("Constant", []*Attribute{Float("value_float", 3)})
		b.Op("Constant", []*Attribute{{Name: "value_floats", Kind: KindFloats, Floats: []float32{1, 2}}})
		b.Op("Constant", []*Attribute{TensorValue("value", OfFloats("", []int64{1, 2}, []float32{1, 2}))})
		b.Identity(b.Ints(1, 2))
		b.Scalar(2, b.Input("x", Float64, Known(1)))
	}},
}

// split writes the attributes of a Split into equal parts, which opset 18 changed.
func split(b *Builder, n int64) []*Attribute {
	a := []*Attribute{Int("axis", 1)}
	if b.Opset() >= 18 {
		a = append(a, Int("num_outputs", n))
	}
	return a
}
