package graph

import "math"

// One method an operator. Where a method has no comment of its own, it is ONNX's operator of that name; elementwise
// operators broadcast.

// Add is x + y.
func (b *Builder) Add(x, y Value) Value { return b.Op("Add", nil, x, y) }

// Sub is x - y.
func (b *Builder) Sub(x, y Value) Value { return b.Op("Sub", nil, x, y) }

// Mul is x y.
func (b *Builder) Mul(x, y Value) Value { return b.Op("Mul", nil, x, y) }

// Div is x / y; integers are divided towards zero.
func (b *Builder) Div(x, y Value) Value { return b.Op("Div", nil, x, y) }

// Pow is x to the power y.
func (b *Builder) Pow(x, y Value) Value { return b.Op("Pow", nil, x, y) }

// Min is the smallest of the operands.
func (b *Builder) Min(x ...Value) Value { return b.Op("Min", nil, x...) }

// Max is the largest of the operands.
func (b *Builder) Max(x ...Value) Value { return b.Op("Max", nil, x...) }

// Neg is -x.
func (b *Builder) Neg(x Value) Value { return b.Op("Neg", nil, x) }

// Abs is |x|.
func (b *Builder) Abs(x Value) Value { return b.Op("Abs", nil, x) }

// Sign is -1, 0 or 1.
func (b *Builder) Sign(x Value) Value { return b.Op("Sign", nil, x) }

// Floor rounds down.
func (b *Builder) Floor(x Value) Value { return b.Op("Floor", nil, x) }

// Exp is e to the power x.
func (b *Builder) Exp(x Value) Value { return b.Op("Exp", nil, x) }

// Log is the natural logarithm.
func (b *Builder) Log(x Value) Value { return b.Op("Log", nil, x) }

// Sqrt is the square root.
func (b *Builder) Sqrt(x Value) Value { return b.Op("Sqrt", nil, x) }

// Reciprocal is 1 / x.
func (b *Builder) Reciprocal(x Value) Value { return b.Op("Reciprocal", nil, x) }

// Erf is the error function.
func (b *Builder) Erf(x Value) Value { return b.Op("Erf", nil, x) }

// Tanh is the hyperbolic tangent.
func (b *Builder) Tanh(x Value) Value { return b.Op("Tanh", nil, x) }

// Sigmoid is 1 / (1 + e^-x).
func (b *Builder) Sigmoid(x Value) Value { return b.Op("Sigmoid", nil, x) }

// Softplus is ln(1 + e^x).
func (b *Builder) Softplus(x Value) Value { return b.Op("Softplus", nil, x) }

// Relu is max(x, 0).
func (b *Builder) Relu(x Value) Value { return b.Op("Relu", nil, x) }

// Sin is the sine of x in radians.
func (b *Builder) Sin(x Value) Value { return b.Op("Sin", nil, x) }

// Cos is the cosine of x in radians.
func (b *Builder) Cos(x Value) Value { return b.Op("Cos", nil, x) }

// Gelu is x Phi(x) with the exact normal distribution function. Below opset 20 it is written with Erf.
func (b *Builder) Gelu(x Value) Value {
	if b.opset >= 20 {
		return b.Op("Gelu", nil, x)
	}
	half := b.Scalar(0.5, x)
	return b.Mul(b.Mul(half, x), b.Add(b.Scalar(1, x), b.Erf(b.Mul(x, b.Scalar(0.7071067811865476, x)))))
}

// GeluTanh is the approximation x (1 + tanh(k (x + 0.044715 x^3))) / 2 of [Builder.Gelu] with k = sqrt(2 / pi) (Hendrycks and Gimpel 2016). Below
// opset 20 it is written out.
func (b *Builder) GeluTanh(x Value) Value {
	if b.opset >= 20 {
		return b.Op("Gelu", []*Attribute{String("approximate", "tanh")}, x)
	}
	k := math.Sqrt(2 / math.Pi)
	inner := b.Mul(x, b.Add(b.Mul(b.Mul(x, x), b.Scalar(0.044715*k, x)), b.Scalar(k, x)))
	return b.Mul(b.Mul(x, b.Scalar(0.5, x)), b.Add(b.Tanh(inner), b.Scalar(1, x)))
}

// Identity is x.
func (b *Builder) Identity(x Value) Value { return b.Op("Identity", nil, x) }

// StopGradient is x, and no gradient passes it.
func (b *Builder) StopGradient(x Value) Value { return b.Op("mdm.StopGradient", nil, x) }

// Equal compares elementwise.
func (b *Builder) Equal(x, y Value) Value { return b.Op("Equal", nil, x, y) }

// Less is x < y.
func (b *Builder) Less(x, y Value) Value { return b.Op("Less", nil, x, y) }

// LessOrEqual is x <= y.
func (b *Builder) LessOrEqual(x, y Value) Value { return b.Op("LessOrEqual", nil, x, y) }

// Greater is x > y.
func (b *Builder) Greater(x, y Value) Value { return b.Op("Greater", nil, x, y) }

// GreaterOrEqual is x >= y.
func (b *Builder) GreaterOrEqual(x, y Value) Value { return b.Op("GreaterOrEqual", nil, x, y) }

// And is x and y, of booleans.
func (b *Builder) And(x, y Value) Value { return b.Op("And", nil, x, y) }

// Or is x or y, of booleans.
func (b *Builder) Or(x, y Value) Value { return b.Op("Or", nil, x, y) }

// Not negates booleans.
func (b *Builder) Not(x Value) Value { return b.Op("Not", nil, x) }

// IsNaN tells where x is not a number.
func (b *Builder) IsNaN(x Value) Value { return b.Op("IsNaN", nil, x) }

// Select is x where the condition holds, else y (ONNX's Where). On the CPU it is slow on big tensors: scale with [Builder.Keep] there.
func (b *Builder) Select(condition, x, y Value) Value { return b.Op("Where", nil, condition, x, y) }

// Keep is x where the condition holds, else 0, also where x is infinite or not a number.
func (b *Builder) Keep(condition, x Value) Value {
	return b.Select(condition, x, b.Scalar(0, x))
}

// Clip limits x to [low, high]; either may be left out.
func (b *Builder) Clip(x, low, high Value) Value { return b.Op("Clip", nil, x, low, high) }

// Cast converts to another element type.
func (b *Builder) Cast(x Value, to Type) Value {
	if b.err == nil && x.Type() == to {
		return x
	}
	return b.Op("Cast", []*Attribute{Int("to", int64(to))}, x)
}

// Scalar is a constant scalar of the element type of like.
func (b *Builder) Scalar(v float64, like Value) Value {
	switch like.Type() {
	case Float64:
		return b.Double(v)
	case Int64:
		return b.Int(int64(v))
	case Float32:
		return b.Float(v)
	case Undefined: // a function's input, or a value of which only the run knows the type
		return b.castLike(b.Double(v), like)
	}
	return b.Cast(b.Float(v), like.Type())
}

// Softmax over one axis.
func (b *Builder) Softmax(x Value, axis int64) Value {
	return b.Op("Softmax", []*Attribute{Int("axis", axis)}, x)
}

// LogSoftmax over one axis.
func (b *Builder) LogSoftmax(x Value, axis int64) Value {
	return b.Op("LogSoftmax", []*Attribute{Int("axis", axis)}, x)
}

// MatMul multiplies matrices, with leading batch dimensions that broadcast.
func (b *Builder) MatMul(x, y Value) Value { return b.Op("MatMul", nil, x, y) }

// MatMulT multiplies matrices, each transposed in its two last dimensions if asked, and scales the product: alpha op(x) op(y).
// Stock operators; the runtime fuses them.
func (b *Builder) MatMulT(x, y Value, transposeX, transposeY bool, alpha float64) Value {
	if transposeX {
		x = b.SwapLast(x)
	}
	if transposeY {
		y = b.SwapLast(y)
	}
	out := b.MatMul(x, y)
	if alpha != 1 {
		out = b.Mul(out, b.Scalar(alpha, out))
	}
	return out
}

// Gemm is op(x) op(y) + bias of matrices; the bias may be left out.
func (b *Builder) Gemm(x, y, bias Value, transposeX, transposeY bool) Value {
	var attributes []*Attribute
	if transposeX {
		attributes = append(attributes, Int("transA", 1))
	}
	if transposeY {
		attributes = append(attributes, Int("transB", 1))
	}
	return b.Op("Gemm", attributes, x, y, bias)
}

// LayerNormalization normalises the last axis to mean 0 and variance 1 and applies scale and bias [D]; the bias may be left out.
func (b *Builder) LayerNormalization(x, scale, bias Value, epsilon float32) Value {
	return b.Op("LayerNormalization", []*Attribute{Int("axis", -1), Float("epsilon", epsilon)}, x, scale, bias)
}

// RMSNormalization divides by the root mean square of the last axis and applies scale [D]. ONNX Runtime's operator below opset
// 23, ONNX's own from there on.
func (b *Builder) RMSNormalization(x, scale Value, epsilon float32) Value {
	op := "SimplifiedLayerNormalization" // lives in ONNX's domain, as ONNX Runtime registers it
	if b.opset >= 23 {
		op = "RMSNormalization"
	}
	return b.Op(op, []*Attribute{Int("axis", -1), Float("epsilon", epsilon)}, x, scale)
}
