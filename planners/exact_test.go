package planners_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// cost is what a planner loses on an explicit joint with the exact denoiser, tokens drawn: all expectations over the data.
type cost struct {
	kl  float64 // KL(joint, what the planner samples), nats
	tc  float64 // sum of the total correlations of what was opened together
	nfe float64
	// bound is the sum of sum(H) - max(H) of what was opened together, multi the number of steps that opened several.
	bound, multi float64
}

// walk follows the planner along every row of the joint. The planner must decide by the model's statistics alone.
func walk(t *testing.T, j try.Joint, name, options string, steps int) (c cost) {
	t.Helper()
	p := planners.All()[name]()
	d := try.Denoiser{V: j.V + 1, Logits: j.Logits}
	try.Start(t, p, options)
	needs := sampling.Needs{P1: true, P2: true, Entropy: sampling.OnModel}
	if err := d.Configure(t.Context(), sampling.Head{Needs: needs, Suppress: []int32{int32(j.V)}}); err != nil {
		t.Fatal(err)
	}
	var follow func(tokens []int64, step int, mass, logp float64)
	follow = func(tokens []int64, step int, mass, logp float64) {
		if !slices.Contains(tokens, int64(j.V)) {
			c.kl += mass * (math.Log(mass) - logp)
			return
		}
		row, h := see(t, &d, tokens, int32(j.V))
		row.Step, row.Steps = step, steps
		decision := try.Ask(t, p, row)
		open := decision.Open
		if step = max(step, decision.ActedAs); step >= steps-1 {
			open = nil
			for i, token := range tokens {
				if token == int64(j.V) {
					open = append(open, int32(i))
				}
			}
		}
		c.nfe += mass
		c.tc += mass * j.TotalCorrelation(tokens, open)
		sum, most := 0.0, 0.0
		for _, i := range open {
			sum, most = sum+h[i], max(most, h[i])
		}
		c.bound += mass * (sum - most)
		if len(open) > 1 {
			c.multi += mass
		}
		branches := map[int]float64{}
		j.Rows(tokens, func(row int, q float64) {
			key := 0
			for _, i := range open {
				key = key*j.V + j.Token(row, int(i))
			}
			branches[key] += q
		})
		q := j.Conditionals(tokens)
		for key, mass := range branches {
			next, logp := slices.Clone(tokens), logp
			for n := len(open) - 1; n >= 0; n-- {
				token := key % j.V
				key /= j.V
				next[open[n]] = int64(token)
				logp += math.Log(q[int(open[n])*j.V+token])
			}
			follow(next, step+1, mass, logp)
		}
	}
	follow(slices.Repeat([]int64{int64(j.V)}, j.L), 0, 1, 0)
	return c
}

// see runs the exact denoiser on a canvas and returns the planner's row and the entropies.
func see(t *testing.T, d *try.Denoiser, tokens []int64, mask int32) (sampling.Row, []float64) {
	t.Helper()
	l := len(tokens)
	b, err := d.Batch(1, l)
	if err != nil {
		t.Fatal(err)
	}
	canvas := make([]int32, l)
	for i, token := range tokens {
		b.Tokens[i], b.Attention[i], canvas[i] = token, 1, int32(token)
		if int32(token) == mask {
			b.Active[i], canvas[i] = 1, try.Mask
		}
	}
	s, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row := try.Row(canvas, 0, 1)
	row.P1, row.P2, row.Entropy, row.Proposal = s.P1, s.P2, s.Entropy, s.Proposal
	h := make([]float64, l)
	for i, x := range s.Entropy {
		h[i] = float64(x)
	}
	return row, h
}

// With the exact denoiser a planner that decides by the model's statistics loses exactly the total correlation of what it
// opens together (EB-Sampler, eqs. 7 to 9); one position a step loses nothing.
func TestExactCost(t *testing.T) {
	const l, v = 5, 3
	for _, c := range []struct {
		name, options string
		steps         int
		exact         bool // opens one uncertain position a step
		gamma         float64
	}{
		{"sequential", `{}`, l, true, 0},
		{"confidence", `{}`, l, true, 0},
		{"confidence", `{"k":2}`, l, false, 0},
		{"margin", `{"k":2}`, l, false, 0},
		{"entropy", `{"k":2}`, l, false, 0},
		{"entropy", `{"schedule":"cosine"}`, 3, false, 0},
		{"low_confidence", `{"confidence":"max"}`, 3, false, 0},
		{"dream", `{"alg":"topk_margin"}`, 3, false, 0},
		{"dream", `{"alg":"entropy"}`, 3, false, 0},
		{"threshold", `{}`, l, false, 0},
		{"threshold", `{"threshold":0.6}`, l, false, 0},
		{"threshold", `{"threshold":1,"strict":true}`, l, true, 0},
		{"threshold", `{"threshold":0}`, l, false, 0},
		{"factor", `{"factor":0.5}`, l, false, 0},
		{"factor", `{}`, l, false, 0},
		{"hierarchy", `{"confidence":"max"}`, l, false, 0},
		{"density", `{"k":2,"sigma":1}`, l, false, 0},
		{"halton", `{"k":2,"schedule":"auto"}`, l, false, 0},
		{"eb", `{"gamma":0}`, l, true, 0},
		{"eb", `{"gamma":0.1}`, l, false, 0.1},
		{"eb", `{"gamma":0.4,"proxy":"margin"}`, l, false, 0.4},
		{"eb", `{"gamma":0.8,"max_entropy":0.5}`, l, false, 0.8},
	} {
		t.Run(fmt.Sprintf("%s %s", c.name, c.options), func(t *testing.T) {
			var mean cost
			const joints = 6
			for seed := range joints {
				got := walk(t, try.NewJoint(l, v, 1, uint64(seed)), c.name, c.options, c.steps)
				if math.Abs(got.kl-got.tc) > 1e-9 {
					t.Errorf("joint %d: KL %.12f, total correlation %.12f", seed, got.kl, got.tc)
				}
				if c.exact && math.Abs(got.kl) > 1e-6 {
					t.Errorf("joint %d: KL %g, want 0 for one uncertain position a step", seed, got.kl)
				}
				if got.kl > got.bound+1e-6 || c.gamma > 0 && got.bound > c.gamma*got.multi+1e-6 {
					t.Errorf("joint %d: KL %g, bound %g, gamma times steps that open several %g", seed, got.kl, got.bound, c.gamma*got.multi)
				}
				mean.kl, mean.nfe = mean.kl+got.kl/joints, mean.nfe+got.nfe/joints
			}
			t.Logf("NFE %.3f  KL %.5f", mean.nfe, mean.kl)
		})
	}
}
