package safetensors

import (
	"math"
	"testing"
)

// Every pair of neighbours decides how the numbers between them round: to the nearer one, in the middle to the even one.
// Together with monotonicity, which the cuts into neighbouring pairs give, this covers every float32.
func TestRounding(t *testing.T) {
	for _, format := range []struct {
		name     string
		to       func(float32) uint16
		from     func(uint16) float32
		infinity uint16
	}{{"float16", Float16, FromFloat16, 0x7c00}, {"bfloat16", BFloat16, FromBFloat16, 0x7f80}} {
		check := func(x float32, want uint16) {
			t.Helper()
			if got := format.to(x); got != want {
				t.Fatalf("%s: %g became %#04x, expected %#04x", format.name, x, got, want)
			}
			if got := format.to(-x); got != want|0x8000 {
				t.Fatalf("%s: %g became %#04x, expected %#04x", format.name, -x, got, want|0x8000)
			}
		}
		for h := range format.infinity {
			low := format.from(h)
			check(low, h)
			high := float64(format.from(h + 1))
			if h+1 == format.infinity { // where the number would be that follows the largest
				high = 2*float64(low) - float64(format.from(h-1))
			}
			middle := float32((float64(low) + high) / 2)
			if format.name == "bfloat16" && h == 0 && float64(middle) == 0 {
				t.Fatal("the smallest bfloat16 has no middle")
			}
			check(middle, h+h&1)
			check(math.Nextafter32(middle, 0), h)
			check(math.Nextafter32(middle, math.MaxFloat32), h+1)
		}
		check(float32(math.Inf(1)), format.infinity)
		check(math.MaxFloat32, format.infinity)
		for h := format.infinity + 1; h < 0x8000; h++ {
			if x := format.from(h); !isNaN(x) || !isNaN(format.from(format.to(x))) {
				t.Fatalf("%s: NaN %#04x became a number", format.name, h)
			}
		}
		nan := math.Float32frombits(0x7f800001) // all leading bits are zero
		if x := format.from(format.to(nan)); !isNaN(x) {
			t.Errorf("%s: NaN became %g", format.name, x)
		}
	}
}

func isNaN(x float32) bool { return math.IsNaN(float64(x)) }
