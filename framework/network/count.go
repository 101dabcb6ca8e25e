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
// multiplication in a matrix product; everything else is left out. A gradient step takes three times as many.
func FLOPs(c Config, length int) int64 {
	d, l := int64(c.HiddenSize), int64(length)
	matrices := int64(2)
	if c.Gated() {
		matrices = 3
	}
	head := int64(c.VocabSize)
	switch c.Head {
	case HeadKeep:
		head = 1
	case HeadOrder:
		head = 0
	}
	for _, s := range c.scores() {
		head += d + s.n
	}
	weights := int64(c.Layers)*(4*d*d+matrices*d*int64(c.Intermediate)) + d*head
	total := l * (2*weights + int64(c.Layers)*4*l*d)
	if c.Timed() { // once a row
		n := int64(c.TimeSize)
		total += 2 * (8*n*n + n*d*int64(6*c.Layers+2))
	}
	return total
}
