package density

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Against the definition, whichever way the sums are taken, and both ways to the same bits.
func TestSmooth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sigma := rapid.SampledFrom([]float64{0.1, 0.5, 2, 10}).Draw(rt, "sigma")
		masked := rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(rt, "masked")
		right := rapid.IntRange(0, 90).Draw(rt, "right")
		flags, all := make([]sampling.Flags, len(masked)), []int32{}
		for i, is := range masked {
			if is {
				flags[i] = sampling.Masked
			}
			all = append(all, int32(i))
		}
		s, radius, norm := newSmooth(sigma), int(4*sigma+0.5), 0.0
		for d := -radius; d <= radius; d++ {
			norm += math.Exp(-float64(d*d) / (2 * sigma * sigma))
		}
		for i := range masked {
			want := 0.0
			for j := i - radius; j <= i+radius; j++ {
				if j < 0 || j < len(masked) && !masked[j] || j >= len(masked) && j < len(masked)+right {
					want += math.Exp(-float64((i-j)*(i-j))/(2*sigma*sigma)) / norm
				}
			}
			gathered := s.over(flags, right, []int32{int32(i)})[i]
			if spread := s.over(flags, right, append(all, append(all, make([]int32, right)...)...))[i]; spread != gathered || math.Abs(spread-want) > 1e-12 {
				rt.Fatalf("position %d: spread %v, gathered %v, want %v", i, spread, gathered, want)
			}
		}
	})
}
