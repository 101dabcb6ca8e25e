package loflexmdm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
)

// The toy: strings of zero to two letters, some of which the order of insertion matters for.
var (
	words = [][]int32{{eos}, {3, eos}, {3, 4, eos}, {4, 3, eos}, {4, 4, eos}}
	law   = []float64{0.1, 0.2, 0.3, 0.15, 0.25}
)

// TestSpeedsHideNoCost measures the evaluation's bound of the best denoiser, over all strings, states and the times that the host
// draws: whatever the scores are, centred speeds cannot bring it below the data's entropy. Speeds near 0 can, for most of
// their events come after the cut-off of times (methods/loflexmdm.md, section 8, item 1): that is why r_min is 1.01.
func TestSpeedsHideNoCost(t *testing.T) {
	entropy := 0.0
	for _, q := range law {
		entropy -= q * math.Log(q)
	}
	rng := rand.New(rand.NewPCG(8, 1))
	random := func(scale float64) [][]float64 {
		out := make([][]float64, len(words))
		for w := range out {
			out[w] = make([]float64, 2*width)
			for i := range out[w] {
				out[w][i] = float64(float32(scale * rng.NormFloat64()))
			}
		}
		return out
	}
	for _, scale := range []float64{0, 1, 10, 10} {
		bound := measured(t, `{}`, random(scale), func(s []float64, n int) []float64 {
			if n == 2 {
				return centred(s, 0, 2)
			}
			return []float64{2, 2, 2}
		})
		t.Logf("centred speeds, scores of size %v: bound %.4f nats, entropy %.4f", scale, bound, entropy)
		if !(bound > entropy-1e-3) {
			t.Errorf("scores of size %v: the best bound %v lies below the entropy %v", scale, bound, entropy)
		}
	}
	slow := random(0)
	for _, s := range slow {
		for i := range s {
			s[i] = -3
		}
	}
	trap := measured(t, `{"speeds": "exp", "r_min": 0, "reg": "off"}`, slow, func([]float64, int) []float64 {
		b := math.Exp(-3)
		return []float64{b, b, b}
	})
	t.Logf("speeds e^-3: %.4f nats", trap)
	if !(trap < entropy-0.1) {
		t.Errorf("speeds of e^-3 measure %v: this test would not see cost that hides, for the entropy is %v", trap, entropy)
	}
}

// measured is the mean of the evaluation graph's bound: over strings by their law, over states by the speeds, over times by
// Simpson's rule in log u from eps to 1 - eps, where the host's times end, and with the times that are clamped there.
func measured(t *testing.T, options string, score [][]float64, speeds func(score []float64, n int) []float64) float64 {
	t.Helper()
	const n, eps, stretch = 120, 1e-4, 2
	all := corruptions(words)
	bIn := func(w int) []float64 { return speeds(score[w], len(words[w])-1) }
	bUm := func(int) []float64 { return ones() }
	lo, hi := math.Log(stretch*insertion.Clock(eps, 1)), math.Log(stretch*insertion.Clock(1-eps, 1))
	h := try.Heads{Name: "toy", Graph: "eval", Options: []byte(options), V: vocabulary, Mask: mask, Pad: pad, Suppressed: []int64{pad, mask},
		Rows: int64(len(all) * (n + 1)), Length: width, Feeds: map[string][]float64{}, Gives: map[string][]float64{}}
	add := func(to string, v ...float64) { h.Feeds[to] = append(h.Feeds[to], v...) }
	var weights []float64
	for k := range n + 1 {
		u := math.Exp(lo + (hi-lo)*float64(k)/n)
		time := float64(float32(insertion.ClockInverse(u/stretch, 1))) // as the host draws it
		u = stretch * insertion.Clock(time, 1)
		simpson := []float64{2, 4}[k%2]
		if k == 0 || k == n {
			simpson = 1
		}
		dt := simpson * (hi - lo) / n / 3 * u / stretch * math.Exp(-u/stretch)
		if k == n {
			dt += eps
		}
		best := posterior(all, law, u, bIn, bUm)
		for _, c := range all {
			tokens, free, real := c.row()
			in, um := c.noise()
			add("tokens", tokens...)
			add("free", free...)
			add("attention_mask", real...)
			add("time", time)
			add("q_in", in...)
			add("q_um", um...)
			h.Gives["order"] = append(h.Gives["order"], score[c.word]...)
			best[key(c.contract(bIn(c.word)))].gives(h.Gives)
			weights = append(weights, dt*law[c.word]*math.Exp(c.logp(u, bIn(c.word), bUm(c.word))))
		}
	}
	delete(h.Gives, "unmask_rate")
	sum := 0.0
	for i, bound := range h.Open(t, h.Build(t, loflexmdm.New()), 1)()["bound"] {
		if weights[i] > 0 {
			sum += weights[i] * float64(bound)
		}
	}
	return sum
}
