package ortartifact

func init() {
	functions["LayerNormalizationGrad"] = func(w *body) []string { // dy, x, scale, mean, inv
		n := w.norm(w.op("Mul", w.op("Sub", w.in(1), w.in(3)), w.in(4)))
		dx := w.op("Sub", w.op("Sub", n.dh, n.mean(n.dh)), w.op("Mul", n.hat, n.mean(w.op("Mul", n.dh, n.hat))))
		return []string{w.op("Mul", dx, w.in(4)), n.rows(w.op("Mul", w.in(0), n.hat)), n.rows(w.in(0))}
	}
	functions["SimplifiedLayerNormalizationGrad"] = func(w *body) []string { // dy, x, scale, inv
		n := w.norm(w.op("Mul", w.in(1), w.in(3)))
		dx := w.op("Sub", n.dh, w.op("Mul", n.hat, n.mean(w.op("Mul", n.dh, n.hat))))
		return []string{w.op("Mul", dx, w.in(3)), n.rows(w.op("Mul", w.in(0), n.hat))}
	}
	functions["SoftmaxGrad_13"] = func(w *body) []string { // dy y - y sum(dy y)
		t := w.op("Mul", w.in(0), w.in(1))
		return []string{w.op("Sub", t, w.op("Mul", w.in(1), w.sum(t, w.axis(-1), 1)))}
	}
	functions["LogSoftmaxGrad_13"] = func(w *body) []string { // dy - exp(y) sum(dy)
		return []string{w.op("Sub", w.in(0), w.op("Mul", w.op("Exp", w.in(1)), w.sum(w.in(0), w.axis(-1), 1)))}
	}
}

// axis is the attribute of the name as a list.
func (w *body) axis(otherwise int64) string { return w.ints(w.call.IntAttr("axis", otherwise)) }

// normalised is what the gradients of norms share. The normalised dimensions are those of the scale.
type normalised struct {
	w                 *body
	hat, dh           string // normalised input, gradient of it
	shape, axes, size string
}

func (w *body) norm(hat string) *normalised {
	n := &normalised{w: w, hat: hat, dh: w.op("Mul", w.in(0), w.in(2)), shape: w.op("Shape", w.in(2))}
	n.axes = w.op("Range", w.op("Neg", w.op("Size", n.shape)), w.int(0), w.int(1))
	n.size = w.cast(w.op("Size", w.in(2)), 1)
	return n
}

// mean is over the normalised dimensions.
func (n *normalised) mean(x string) string { return n.w.op("Div", n.w.sum(x, n.axes, 1), n.size) }

// rows adds up all rows to the shape of the scale, by a product with ones: the runtime does it on all processors, other
// than a sum over the first axis.
func (n *normalised) rows(x string) string {
	w := n.w
	flat := w.op("Reshape", x, w.concat(w.ints(-1), w.op("Reshape", w.op("Size", w.in(2)), w.ints(1))))
	count := w.op("Slice", w.op("Shape", flat), w.ints(0), w.ints(1))
	ones := w.op("Expand", w.float(1), w.concat(w.ints(1), count))
	return w.op("Reshape", w.op("MatMul", ones, flat), n.shape)
}
