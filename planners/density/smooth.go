package density

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// smooth averages the indicator of known positions with a Gaussian kernel. What lies left of the window counts as known, also
// left of the row. Of what lies right of it, positions that were given count as known; masked ones, which wait for their
// block, do not, nor does what lies behind the row.
type smooth struct {
	radius int
	kernel []float64 // [2 radius + 1] sums to 1
	left   []float64 // [radius] the kernel's weight left of the window, for positions 0, 1, ...
	known  []float64 // [n + right] 1 or 0; reused from row to row
	result []float64 // [n]
}

// newSmooth cuts the kernel off at four standard deviations.
func newSmooth(sigma float64) *smooth {
	s, sum := &smooth{radius: int(4*sigma + 0.5)}, 0.0
	for d := -s.radius; d <= s.radius; d++ {
		s.kernel = append(s.kernel, math.Exp(-0.5*float64(d*d)/(sigma*sigma)))
		sum += s.kernel[d+s.radius]
	}
	for i := range s.kernel {
		s.kernel[i] /= sum
	}
	s.left = make([]float64, s.radius)
	beyond := 0.0
	for i := s.radius - 1; i >= 0; i-- {
		beyond += s.kernel[s.radius-1-i]
		s.left[i] = beyond
	}
	return s
}

// over returns the densities [n], valid at the positions asked for until the next call; right is how many known positions
// follow the window. It spreads the known positions or
// gathers for those asked for, whichever are fewer; terms are added from left to right both ways, to the same bits.
func (s *smooth) over(flags []sampling.Flags, right int, at []int32) []float64 {
	n, count := len(flags), 0
	s.known, s.result = s.known[:0], s.result[:0]
	for i, f := range flags {
		known, left := 0.0, 0.0
		if f&sampling.Masked == 0 {
			known = 1
			count++
		}
		if i < s.radius {
			left = s.left[i]
		}
		s.known, s.result = append(s.known, known), append(s.result, left)
	}
	for range min(right, s.radius) {
		s.known = append(s.known, 1)
		count++
	}
	if count < len(at) {
		for j, known := range s.known {
			if known > 0 {
				lo, hi := max(j-s.radius, 0), min(j+s.radius+1, n)
				add(s.result[lo:hi], s.kernel[lo-j+s.radius:])
			}
		}
		return s.result
	}
	for _, i := range at {
		lo, hi := max(int(i)-s.radius, 0), min(int(i)+s.radius+1, len(s.known))
		s.result[i] = dot(s.result[i], s.known[lo:hi], s.kernel[lo-int(i)+s.radius:])
	}
	return s.result
}

// add adds the first values of x to all of to.
func add(to, x []float64) {
	x = x[:len(to)]
	for i := range to {
		to[i] += x[i]
	}
}

// dot returns sum + x . y, over all of x.
func dot(sum float64, x, y []float64) float64 {
	y = y[:len(x)]
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}
