package remdm_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/remdm"
)

// Step by step what the numpy reference does, in 200 episodes of all strategies with their noise.
func TestAgainstReference(t *testing.T) {
	var episodes []struct {
		Options      json.RawMessage
		Fixed, Given []int
		Length       int
		Steps        [][4][]int // uniform, logp, open, remask
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &episodes)
	states := map[string]int{}
	for n, e := range episodes {
		var o remdm.Options
		if err := json.Unmarshal(e.Options, &o); err != nil {
			t.Fatal(err)
		}
		tokens := try.Blank(e.Length)
		for _, i := range append(e.Given, e.Fixed...) {
			tokens[i] = 3
		}
		p := remdm.New()
		try.Start(t, p, string(e.Options))
		for i, s := range e.Steps {
			r := try.Row(slices.Clone(tokens), i, len(e.Steps), e.Fixed...)
			r.Index, r.Offset = int64(n), 2
			r.AlphaT, r.AlphaS = float64(i)/float64(len(e.Steps)), float64(i+1)/float64(len(e.Steps))
			r.T, r.S = 1-r.AlphaT, 1-r.AlphaS
			r.Uniform, r.LogpProposal = try.Units(s[0], 4096.0), try.Units(s[1], float32(-64))
			got := try.Ask(t, p, r)
			if diff := cmp.Diff([][]int{s[2], s[3]}, [][]int{ints(got.Open), ints(got.Remask)}, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("episode %d %s, step %d (-reference +ours):\n%s", n, e.Options, i, diff)
			}
			if got.Metrics["remasked"] != float64(len(got.Remask)) {
				t.Fatalf("metrics %v for %d positions masked again", got.Metrics, len(got.Remask))
			}
			for _, j := range got.Open {
				tokens[j] = 7
			}
			for _, j := range got.Remask {
				tokens[j] = try.Mask
			}
			states[o.Strategy]++
		}
	}
	for of, n := range states {
		if n < 200 {
			t.Errorf("%s: %d states, expected at least 200", of, n)
		}
	}
	if len(states) != 5 {
		t.Errorf("strategies %v, expected all five", states)
	}
}

func ints(n []int32) (out []int) {
	for _, i := range n {
		out = append(out, int(i))
	}
	return out
}

// coin finds the planner's probabilities: it asks it about a fine grid of uniforms.
func coin(t testing.TB, options string, step, steps int, alphaT, alphaS float64) try.Coin {
	const fine = 1 << 12
	p := remdm.New()
	try.Start(t, p, options)
	r := try.Row(append(try.Blank(fine), make([]int32, fine)...), step, steps)
	r.T, r.S, r.AlphaT, r.AlphaS = 1-alphaT, 1-alphaS, alphaT, alphaS
	for range 2 {
		for i := range fine {
			r.Uniform = append(r.Uniform, (float64(i)+0.5)/fine)
		}
	}
	d := try.Ask(t, p, r)
	return try.Coin{Open: float64(len(d.Open)) / fine, Remask: float64(len(d.Remask)) / fine, GoOn: d.GoOn}
}

// P(written) goes from alpha_t to alpha_s whatever is masked again: the promise of ReMDM. The loop does so on its own
// schedule. Exact up to the grid of uniforms.
func TestMarginals(t *testing.T) {
	warp := func(a float64) float64 { // the loop's schedule with its defaults, from the sheet
		switch {
		case 1-a > 0.55:
			return a * 0.9 / 0.45
		case 1-a > 0.05:
			return 0.9
		}
		return 1 - (1-a)*0.1/0.05
	}
	same := func(a float64) float64 { return a }
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.Float64Range(0.01, 0.98).Draw(rt, "alpha_t")
		b := rapid.Float64Range(a, 0.99).Draw(rt, "alpha_s")
		eta := rapid.Float64Range(0, 1).Draw(rt, "eta")
		for strategy, schedule := range map[string]func(float64) float64{"cap": same, "rescale": same, "forward_backward": same, "loop": warp} {
			c := coin(t, fmt.Sprintf(`{"strategy":%q,"eta":%v}`, strategy, eta), 1, 9, a, b)
			before, after := schedule(a), schedule(b)
			if now := before*(1-c.Remask) + (1-before)*c.Open; math.Abs(now-after) > 1.0/(1<<12) {
				rt.Fatalf("%s, eta %v: written %v after the step from %v, want %v", strategy, eta, now, before, after)
			}
		}
	})
}

// A whole run draws from the process that the coins define, and with eta ~ 1/steps that process approaches the joint of an
// exact denoiser as the steps grow. False alarms: below 1e-8 a case.
func TestTheProcess(t *testing.T) {
	const n, l = 4000, 4
	j := try.NewJoint(l, 2, 0, 5)
	for _, strategy := range []string{"cap", "rescale", "loop", "forward_backward"} {
		far := math.Inf(1)
		for _, steps := range []int{3, 9, 27, 81} {
			options := fmt.Sprintf(`{"strategy":%q,"eta":%v}`, strategy, 1/float64(steps))
			var coins []try.Coin
			for i := range steps {
				coins = append(coins, coin(t, options, i, steps, float64(i)/float64(steps), float64(i+1)/float64(steps)))
			}
			exact := j.Process(coins)
			tv := try.Distance(exact, j.P)
			if tv > 0.75*far {
				t.Errorf("%s, %d steps: distance %.4f from the joint, %.4f with a third of the steps", strategy, steps, tv, far)
			}
			far = tv
			if steps > 27 {
				continue
			}
			drawn := draw(t, j, options, steps, n)
			if d, most := try.Distance(drawn, exact), try.ByChance(exact, n); d > most {
				t.Errorf("%s, %d steps: distance %.4f from the process, at most %.4f by chance", strategy, steps, d, most)
			}
		}
		t.Logf("%s: distance %.4f from the joint", strategy, far)
		if far > 0.03 {
			t.Errorf("%s: still %.4f from the joint", strategy, far)
		}
	}
}

// With a fixed eta rows are drawn anew side by side in every step: the error falls more slowly than 1/steps, which is why
// eta should shrink.
func TestFixedEta(t *testing.T) {
	j := try.NewJoint(4, 2, 0, 5)
	gain := func(eta float64) float64 { // by four times the steps
		far := [2]float64{}
		for k, steps := range []int{30, 120} {
			var coins []try.Coin
			for i := range steps {
				coins = append(coins, coin(t, fmt.Sprintf(`{"eta":%v}`, eta), i, steps, float64(i)/float64(steps), float64(i+1)/float64(steps)))
			}
			far[k] = try.Distance(j.Process(coins), j.P)
		}
		t.Logf("eta %v: distances %.5f from the joint", eta, far)
		return far[0] / far[1]
	}
	if fixed, none := gain(0.2), gain(0); none < 3 || fixed > 2.7 {
		t.Errorf("four times the steps cut the error by %.2f at eta 0.2, by %.2f without", fixed, none)
	}
}

// draw returns the distribution of n rows of a whole run.
func draw(t *testing.T, j try.Joint, options string, steps, n int) []float64 {
	var requests []sampling.Request
	for i := range n {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{2}, j.L), Steps: steps,
			Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	drawn := make([]float64, len(j.P))
	for _, r := range (try.Run{Planner: remdm.New, Options: options, SamplerOptions: `{}`, Model: try.Denoiser{V: 3, Logits: j.Logits},
		Seed: 17, Batch: 64, Requests: requests}).Do(t) {
		drawn[try.Number(j, r.Tokens)] += 1 / float64(n)
	}
	return drawn
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"strategy":"loop","t_switch":0.5}`, `{"strategy":"loop","t_on":1}`, `{"strategy":"loop","t_on":0.1,"t_off":0.2}`, `{"eta":2}`} {
		if _, err := remdm.New().Start(t.Context(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}
