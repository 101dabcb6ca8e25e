package insertion

import "math"

// Bregman is D(p, q) = q - p + p log(p/q), the divergence of r log r between a rate p and its prediction q > 0; D(0, q) = q.
func Bregman(p, q float64) float64 {
	if p == 0 {
		return q
	}
	return q - p + p*math.Log(p/q)
}
