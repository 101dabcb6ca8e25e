package diffusion_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// The worked example of the sheet: three masked positions with log p = -0.1, -1, -2, and one visible.
func TestPAPLExample(t *testing.T) {
	logp, masked := []float64{-0.1, -1, -9, -2}, []bool{true, true, false, true}
	for _, c := range []struct {
		form       diffusion.Form
		alpha, tau float64
		ratio      []float64
		loss       float64
		w          []float64
	}{
		{diffusion.Paper, 0, 1, nil, 1.033333, []float64{0.642616, 0.261268, 0, 0.096115}},
		{diffusion.Paper, 1, 1, nil, 1.205920, nil},
		{diffusion.Paper, 5, 1, nil, 1.896267, nil},
		{diffusion.PELBO, 1, 1, nil, 1.551094, nil},
		{diffusion.Paper, 1, 0.5, nil, 1.120350, []float64{0.841985, 0.139179, 0, 0.018836}},
		{diffusion.Paper, 5, 0.3, nil, 1.276367, []float64{0.950965, 0.047346, 0, 0.001689}},
		{diffusion.OpenDLLM, 1, 1, []float64{0.75}, 1.357348, nil},
		{diffusion.Paper, 1, 0, nil, (3.1 + 0.1) / 3, []float64{1, 0, 0, 0}},
		{diffusion.PELBO, 1, math.Inf(1), nil, 2 * 3.1 / 3, []float64{1. / 3, 1. / 3, 0, 1. / 3}},
	} {
		p := diffusion.PAPL{Form: c.form, Alpha: c.alpha, Tau: c.tau}
		if got := p.Loss(logp, masked, c.ratio, 4); math.Abs(got-c.loss) > 1e-6 {
			t.Errorf("%+v: loss %.6f, want %.6f", p, got, c.loss)
		}
		w := make([]float64, 4)
		diffusion.PlannerWeights(w, logp, masked, c.tau)
		for i, want := range c.w {
			if math.Abs(w[i]-want) > 1e-6 {
				t.Errorf("%+v: weight %d is %.6f, want %.6f", p, i, w[i], want)
			}
		}
	}
}

func TestPlannerWeightsEdges(t *testing.T) {
	inf := math.Inf(-1)
	for name, c := range map[string]struct {
		logp   []float64
		masked []bool
		tau    float64
		want   []float64
	}{
		"greedy, tie":       {[]float64{-1, -0.5, -0.5}, []bool{true, true, true}, 0, []float64{0, 1, 0}},
		"greedy, visible":   {[]float64{-0.1, -0.5, -0.6}, []bool{false, true, true}, 0, []float64{0, 1, 0}},
		"no mask":           {[]float64{-1, -1, -1}, make([]bool, 3), 1, []float64{0, 0, 0}},
		"tiny tau":          {[]float64{-1, -2, -3}, []bool{true, true, true}, 1e-300, []float64{1, 0, 0}},
		"one impossible":    {[]float64{inf, -2, -2}, []bool{true, true, true}, 1, []float64{0, 0.5, 0.5}},
		"all impossible":    {[]float64{inf, inf, 0}, []bool{true, true, false}, 1, []float64{0.5, 0.5, 0}},
		"greedy impossible": {[]float64{0, inf, inf}, []bool{false, true, true}, 0, []float64{0, 1, 0}},
	} {
		w := []float64{7, 7, 7}
		diffusion.PlannerWeights(w, c.logp, c.masked, c.tau)
		for i := range w {
			if w[i] != c.want[i] {
				t.Errorf("%s: weights %v, want %v", name, w, c.want)
				break
			}
		}
	}
}

// The weights are a distribution over the masks in the order of their log-probabilities; alpha 0 is the plain masked loss
// and rows do not touch each other in the forms that average them.
func TestPAPLProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		L, B := rapid.IntRange(1, 8).Draw(t, "L"), rapid.IntRange(1, 4).Draw(t, "B")
		logp := rapid.SliceOfN(rapid.Float64Range(-30, 0), B*L, B*L).Draw(t, "logp")
		masked := rapid.SliceOfN(rapid.Bool(), B*L, B*L).Draw(t, "masked")
		tau := rapid.SampledFrom([]float64{0, 1e-3, 0.3, 1, 10, math.Inf(1)}).Draw(t, "tau")
		form := diffusion.Form(rapid.SampledFrom([]string{"paper", "pelbo"}).Draw(t, "form"))
		p := diffusion.PAPL{Form: form, Alpha: rapid.Float64Range(0, 5).Draw(t, "alpha"), Tau: tau}

		rows, plain := 0.0, 0.0
		for b := range B {
			lp, m := logp[b*L:(b+1)*L], masked[b*L:(b+1)*L]
			rows += p.Loss(lp, m, nil, L) / float64(B)
			w, sum, n := make([]float64, L), 0.0, 0
			diffusion.PlannerWeights(w, lp, m, tau)
			for i := range w {
				sum += w[i]
				if m[i] {
					n++
				}
				for j := range w {
					if m[i] && m[j] && lp[i] > lp[j] && w[i] < w[j] {
						t.Fatalf("weights %v do not follow %v at tau %v", w, lp, tau)
					}
				}
				if !m[i] && w[i] != 0 {
					t.Fatalf("visible position %d has weight %v", i, w[i])
				}
			}
			if n > 0 {
				plain += diffusion.MaskedCE(lp, m) / float64(n*B)
			}
			if want := float64(min(n, 1)); math.Abs(sum-want) > 1e-12 {
				t.Fatalf("weights of %d masks sum to %v", n, sum)
			}
		}
		if got := p.Loss(logp, masked, nil, L); math.Abs(got-rows) > 1e-12*(1+rows) {
			t.Fatalf("batch loss %v, mean of its rows %v", got, rows)
		}
		p.Alpha = 0
		if got := p.Loss(logp, masked, nil, L); math.Abs(got-plain) > 1e-12*(1+plain) {
			t.Fatalf("loss at alpha 0 is %v, plain masked loss %v", got, plain)
		}
	})
}
