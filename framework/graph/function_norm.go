package graph

func init() {
	define("LayerNormGrad", inferGrads(1, 2, 2), body{inputs: []string{"dy", "x", "gamma", "mean", "inv"}, outputs: []string{"dx", "dgamma", "dbeta"},
		write: func(b *Builder, in []Value) []Value {
			dy, x, gamma := in[0], in[1], in[2]
			inv := b.castLike(in[4], x)
			hat := b.Mul(b.Sub(x, b.castLike(in[3], x)), inv)
			t := b.Mul(dy, hat)
			mean := b.columnMean(gamma)
			m1, m2 := b.MatMul(dy, mean), b.MatMul(t, mean) // [..., 1]
			dx := b.Mul(b.Sub(b.Sub(b.Mul(dy, gamma), m1), b.Mul(hat, m2)), inv)
			return []Value{dx, b.columnSum(t, gamma), b.columnSum(dy, gamma)}
		}})
	define("RMSNormGrad", inferGrads(1, 2), body{inputs: []string{"dy", "x", "gamma", "inv"}, outputs: []string{"dx", "dgamma"},
		write: func(b *Builder, in []Value) []Value {
			dy, x, gamma := in[0], in[1], in[2]
			inv := b.castLike(in[3], x)
			hat := b.Mul(x, inv)
			t := b.Mul(dy, hat)
			m2 := b.MatMul(t, b.columnMean(gamma)) // [..., 1]
			return []Value{b.Mul(b.Sub(b.Mul(dy, gamma), b.Mul(hat, m2)), inv), b.columnSum(t, gamma)}
		}})
}

// castLike is x in the element type of like. The runtime drops a cast that changes nothing.
func (b *Builder) castLike(x, like Value) Value { return b.Op("CastLike", nil, x, like) }

// columnMean is gamma / D as a column: MatMul with it is the mean over the last axis after scaling by gamma, without a pass
// over the data of its own.
func (b *Builder) columnMean(gamma Value) Value {
	d := b.castLike(b.Op("Size", nil, gamma), gamma)
	return b.column(b.Div(gamma, d))
}

// columnSum adds up all rows of x [..., D] to the shape of like [D]: a product with ones, which the runtime does on all
// processors, other than a sum over the first axis.
func (b *Builder) columnSum(x, like Value) Value {
	size := b.Op("Shape", nil, like)
	rows := b.ReshapeTo(x, b.Concat(0, b.Ints(-1), size)) // [N, D]
	n := b.Slice(b.Op("Shape", nil, rows), 0, 0, 1)
	ones := b.Expand(b.Scalar(1, x), b.Concat(0, b.Ints(1), n)) // [1, N]
	return b.ReshapeTo(b.Gemm(ones, rows, Value{}, false, false), size)
}
