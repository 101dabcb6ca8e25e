package count

import "math"

// Ratio is the fraction of the blanks that MaskGIT keeps masked at progress r = (step+1)/steps (Chang et al. 2022,
// section 3.2; the formulas are those of the public mask_schedule).
type Ratio func(r float64, blanks int) float64

// MaskGIT keeps floor(blanks ratio(r)) masked, but at least one position until the last step, and opens at least one in
// every step. The public code leaves that one position to its final proposal; here it opens in the last step.
func MaskGIT(ratio Ratio) Stay {
	return func(blanks, masked, step, steps int) int {
		if step >= steps-1 {
			return 0
		}
		share := min(max(ratio(float64(step+1)/float64(steps), blanks), 1e-6), 1)
		return min(max(1, min(masked-1, int(math.Floor(float64(blanks)*share)))), masked)
	}
}

// ratios are MaskGIT's schedules but the linear one. Concave ones (cosine, pow2, pow3, exp) open few positions at first,
// where the model knows least; convex ones (pow0.5, log) open many.
var ratios = map[string]Ratio{
	"cosine": Cosine,
	"pow2":   Power(2),
	"pow3":   Power(3),
	"pow0.5": Power(0.5),
	"log":    func(r float64, blanks int) float64 { return -math.Log2(r) / math.Log2(float64(blanks)) },
	"exp":    func(r float64, blanks int) float64 { return 1 - math.Exp2(-math.Log2(float64(blanks))*(1-r)) },
}

// Cosine is cos(pi r/2), MaskGIT's own choice.
func Cosine(r float64, _ int) float64 { return math.Cos(math.Pi / 2 * r) }

// Power is 1 - r^p; p = 1 is linear.
func Power(p float64) Ratio {
	return func(r float64, _ int) float64 { return 1 - math.Pow(r, p) }
}

// NamedRatio returns the MaskGIT schedule of that name, "linear" among them.
func NamedRatio(name string) (Stay, bool) {
	if name == "linear" {
		return MaskGIT(Power(1)), true
	}
	ratio, ok := ratios[name]
	return MaskGIT(ratio), ok
}
