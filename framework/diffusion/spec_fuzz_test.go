package diffusion_test

import (
	"math"
	"testing"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// A description is refused or gives probabilities at every time.
func FuzzSpec(f *testing.F) {
	f.Add("linear", 0., 0., 0., 0., 0.5)
	f.Add("polynomial", 3., 0., 0., 1e-4, 0.)
	f.Add("polynomial", 1e300, 0., 0., 0., 1.)
	f.Add("cosine", 0., 0., 0., 0.4999, 1.)
	f.Add("geometric", 0., 1e-5, 20., 0., 0.1)
	f.Add("geometric", 0., 1e-300, 1e300, 0., 1.)
	f.Add("geometric", 0., 1e-100, 1e100, 0., 0.5)
	f.Fuzz(func(t *testing.T, kind string, c, bmin, bmax, eps, at float64) {
		s, err := diffusion.Spec{Kind: kind, C: c, BMin: bmin, BMax: bmax, Eps: eps}.New()
		if err != nil || !(at >= 0 && at <= 1) {
			return
		}
		for name, p := range map[string]float64{"U": s.U(at), "Alpha": s.Alpha(at), "Inverse": s.Inverse(at), "Rho": s.Rho(at/2, at)} {
			if !(p >= 0 && p <= 1+1e-12) {
				t.Errorf("%s: %s at %v is %v", s, name, at, p)
			}
		}
		if w := s.Weight(at); at > 0 && (w < 0 || math.IsNaN(w)) {
			t.Errorf("%s: Weight(%v) = %v", s, at, w)
		}
	})
}
