package network

// ParamCount is the number of trained numbers.
func ParamCount(c Config) int64 {
	var n int64
	for _, p := range Params(c) {
		n += p.Len()
	}
	return n
}

// FLOPs estimates the floating-point operations of one forward pass for a row of length positions, two for each
// multiplication in a matrix product; everything else is left out. Windows of attention save none: all scores are computed. A gradient step takes
// three times as many.
func FLOPs(c Config, length int) int64 {
	d, l := int64(c.HiddenSize), int64(length)
	queries, keys := int64(c.Heads*c.HeadSize()), int64(c.KeyHeads()*c.HeadSize())
	matrices := int64(2)
	if c.Gated() {
		matrices = 3
	}
	width, head := d, int64(c.VocabSize)
	switch c.Head {
	case HeadKeep:
		head = 1
	case HeadOrder:
		head = 0
	}
	ends := int64(0)
	if c.HeadTransform {
		width = int64(c.EmbeddingWidth())
		ends = d * width
	}
	ends += width * head
	if c.EmbeddingSize > 0 {
		ends += d * int64(c.EmbeddingSize)
	}
	for _, s := range c.scores() {
		ends += d * (d + s.n)
	}
	weights := int64(c.Layers)*(2*d*(queries+keys)+matrices*d*int64(c.Intermediate)) + ends
	total := l * (2*weights + int64(c.Layers)*4*l*queries)
	if c.Timed() { // once a row
		n := int64(c.TimeSize)
		total += 2 * (8*n*n + n*d*int64(6*c.Layers+2))
	}
	return total
}
