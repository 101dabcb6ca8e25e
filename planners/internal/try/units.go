package try

// Units returns whole numbers of a unit as fractions.
func Units[F float32 | float64](n []int, unit F) []F {
	out := make([]F, len(n))
	for i, x := range n {
		out[i] = F(x) / unit
	}
	return out
}
