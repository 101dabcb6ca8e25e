package evaluate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/evaluate"
)

// F and corollary A.9 of the soft greedy order at one state, against enumeration of z: very unequal probabilities and temperatures
// strain the quadrature.
func TestFAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, v := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(2, 4).Draw(t, "v")
		tau := rapid.SampledFrom([]float64{0.02, 0.1, 0.5, 1, 4}).Draw(t, "tau")
		lp, y := make([][]float64, n), make([]int64, n)
		for i := range lp {
			sum := 0.0
			for range v {
				x := rapid.Float64Range(-25, 0).Draw(t, "logit")
				lp[i] = append(lp[i], x)
				sum += math.Exp(x)
			}
			for k := range lp[i] {
				lp[i][k] -= math.Log(sum)
			}
			y[i] = rapid.Int64Range(0, int64(v-1)).Draw(t, "y")
		}
		g, logF, low := evaluate.SoftGreedyOrder{Tau: tau}.Step(lp, y)
		sum := 0.0
		for i := range g {
			sum += g[i]
			if g[i] == 0 {
				continue
			}
			F, jensen := 0.0, 0.0 // over all z
			z := make([]int, n)
			for {
				p, others := 0.0, math.Inf(-1)
				for j := range z {
					if j != i {
						p += lp[j][z[j]]
						others = logAdd(others, lp[j][z[j]]/tau)
					}
				}
				a := lp[i][y[i]] / tau
				F += math.Exp(p + a - logAdd(a, others))
				jensen += math.Exp(p) * (a - logAdd(a, others))
				k := 0
				for ; k < n; k++ {
					if k != i {
						if z[k]++; z[k] < v {
							break
						}
						z[k] = 0
					}
				}
				if k == n {
					break
				}
			}
			if math.Abs(logF[i]-math.Log(F)) > 1e-9 {
				t.Fatalf("log F %v, want %v", logF[i], math.Log(F))
			}
			if math.Abs(low[i]-jensen) > 1e-9*max(1, math.Abs(jensen)) {
				t.Fatalf("E log G %v, want %v", low[i], jensen)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("G sums to %v", sum)
		}
	})
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
