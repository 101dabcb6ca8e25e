package sampling_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
)

// surest opens the position of the largest p1, the lowest of equals.
func surest(r *sampling.Row, d *sampling.Decision) {
	best := int32(-1)
	for _, i := range eligible(r) {
		if best < 0 || r.P1[i] > r.P1[best] {
			best = i
		}
	}
	d.Open = append(d.Open, best)
}

// Held-back tokens are drawn and open last, from left to right; results keep their real log-probabilities.
func TestHeldBackTokensOpenLast(t *testing.T) {
	text := []int32{7, 1, 6, 2, 3} // surest first
	everything := sampling.Needs{P1: true, P2: true, LogpProposal: sampling.OnModel, Entropy: sampling.OnModel}
	var seen []string
	plan := func(r *sampling.Row, d *sampling.Decision) {
		for i := range r.Flags {
			held := r.Proposal[i] == 7 || r.Proposal[i] == 6
			none := r.P1[i] == 0 && r.P2[i] == 0 && math.IsInf(float64(r.LogpProposal[i]), -1) && r.Entropy[i] == float32(math.Log(8))
			if masked := r.Flags[i]&sampling.Masked != 0; none != (held && masked) {
				seen = append(seen, fmt.Sprintf("step %d, position %d: %v %v %v %v", r.Step, i, r.P1[i], r.P2[i], r.LogpProposal[i], r.Entropy[i]))
			}
		}
		surest(r, d)
	}
	for _, temperature := range []float32{0, 0.01} {
		seen = nil
		var log steps
		res, _, err := run{denoiser: &goDenoiser{v: 9, logits: dictate(9, text)}, plan: plan, needs: everything, observers: []sampling.Observer{&log},
			requests: []sampling.Request{{Tokens: slices.Repeat([]int32{8}, 5), Params: sampling.Params{Temperature: temperature, TopP: 1}}},
			frame:    func(c *sampling.LoopConfig) { c.HoldBack = []int32{7, 6} }}.do(t)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]int32{{1}, {3}, {4}, {0}, {2}}, log.opened[0]); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if seen != nil {
			t.Errorf("statistics: %v", seen)
		}
		for i, lp := range res[0].Logp {
			if want := -math.Log1p(7 * math.Exp(float64(i)/10-20)); res[0].Tokens[i] != text[i] || math.Abs(float64(lp)-want) > 1e-6 {
				t.Errorf("position %d: token %d with log-probability %v, want %d with %v", i, res[0].Tokens[i], lp, text[i], want)
			}
		}
	}
}

// lazy opens one random position or none, by the coin of the first position, and says when a step does nothing.
func lazy(r *sampling.Row, d *sampling.Decision) {
	if r.Uniform[0] < 0.25 {
		uniformly(r, d)
	}
}

// A step that changes nothing leaves the statistics as they are: the pass after it is saved. NFE is the number of canvases
// that were looked at. The rows are the same whatever the batch.
func TestAPassForEveryCanvas(t *testing.T) {
	const v, rows = 9, 70
	for name, c := range map[string]struct {
		plan   planFunc
		needs  sampling.Needs
		remask bool
		heat   float32
		timed  bool
		memory bool
		saves  bool
	}{
		"opens at random":                {plan: lazy, heat: 1, saves: true},
		"revises":                        {plan: sometimes, remask: true, heat: 1, saves: true},
		"looks at proposals":             {plan: lazy, needs: sampling.Needs{Proposal: true}, heat: 1},
		"looks at their probabilities":   {plan: lazy, needs: sampling.Needs{LogpProposal: sampling.OnModel}, heat: 1},
		"looks at what is no draw":       {plan: lazy, needs: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel}, saves: true},
		"a model that reads times":       {plan: lazy, heat: 1, timed: true},
		"a head that keeps every pass":   {plan: lazy, heat: 1, memory: true},
		"a statistic of the pass before": {plan: lazy, needs: sampling.Needs{KLPrev: true}, heat: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []sampling.Request
			for i := range int64(rows) {
				requests = append(requests, sampling.Request{Index: i, Tokens: slices.Repeat([]int32{v - 1}, 3+int(i)%4), Steps: 12 + int(i)%7,
					Params: sampling.Params{Temperature: c.heat, TopP: 1}})
			}
			needs := c.needs
			needs.Uniform = true
			var first map[int64]sampling.Result
			for _, batch := range []int{1, 7, 64} {
				var seen steps
				d := &goDenoiser{v: v, logits: hashLogits(v), pad: true, timed: c.timed}
				res, acc, err := run{denoiser: d, plan: c.plan, needs: needs, canRemask: c.remask, rows: batch, seed: 5, requests: requests,
					observers: []sampling.Observer{&seen}, frame: func(l *sampling.LoopConfig) { l.Memory = c.memory }}.do(t)
				if err != nil {
					t.Fatal(err)
				}
				changed, nfe, saved := map[int64]bool{}, map[int64]int{}, 0
				for _, f := range seen.frames {
					if before, later := changed[f.Index]; !later || before || !c.saves {
						nfe[f.Index]++
					} else {
						saved++
					}
					changed[f.Index] = len(f.Opened)+len(f.Remasked) > 0
				}
				sum := 0
				for i, r := range res {
					if r.NFE != nfe[i] {
						t.Fatalf("batch %d, row %d: %d passes over %d canvases in %d steps", batch, i, r.NFE, nfe[i], r.Steps)
					}
					sum += r.NFE
					r.Elapsed, r.Logp = 0, nil
					res[i] = r
				}
				if acc.RowPasses != sum || acc.Steps != len(seen.frames) || c.saves != (saved > 0) {
					t.Fatalf("batch %d: accounts %+v; %d passes in all, %d steps, %d without one", batch, acc, sum, len(seen.frames), saved)
				}
				if first == nil {
					first = res
				} else if diff := cmp.Diff(first, res); diff != "" {
					t.Fatalf("batch %d changes rows:\n%s", batch, diff)
				}
			}
		})
	}
}

// sometimes opens and masks again a few positions of a row that goes on to the end of its steps.
func sometimes(r *sampling.Row, d *sampling.Decision) {
	for i, f := range r.Flags {
		switch {
		case f&sampling.Masked != 0 && r.Uniform[i] < 0.15:
			d.Open = append(d.Open, int32(i))
		case f == 0 && r.Uniform[i] < 0.05:
			d.Remask = append(d.Remask, int32(i))
		}
	}
	d.GoOn = r.Step < r.Steps-1
}

// What is saved changes no law: one token at a time in a random order, with pauses, reproduces the joint of an exact
// denoiser (see TestOneTokenPerStepIsExact for the bound; false alarms are rarer than 1e-7). 200 steps do for four tokens but
// in one row of 10^20.
func TestPausesKeepTheLaw(t *testing.T) {
	const n = 20000
	j := newJoint(4, 3, 77)
	requests := blanks(n, j, 1)
	for i := range requests {
		requests[i].Steps = 200
	}
	res, acc, err := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: lazy, needs: sampling.Needs{Uniform: true}, rows: 64, seed: 4343, requests: requests}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]float64, len(j.p))
	for _, r := range res {
		count[j.index(r.Tokens)]++
	}
	tv, mean := 0.0, 0.0
	for i, p := range j.p {
		tv += math.Abs(count[i]/n-p) / 2
		mean += math.Sqrt(p * (1 - p) / (2 * math.Pi * n))
	}
	if bound := mean + math.Sqrt(math.Log(1e7)/(2*n)); tv > bound {
		t.Errorf("total variation %.4f, expected %.4f, bound %.4f", tv, mean, bound)
	}
	if acc.RowPasses != n*j.l || acc.Steps < 3*n*j.l {
		t.Errorf("%d passes in %d steps, want %d passes in about four times as many steps", acc.RowPasses, acc.Steps, n*j.l)
	}
}

// The last pass that a row may have opens everything, later blocks included, with the tokens of that pass.
func TestMaxNFE(t *testing.T) {
	const v = 9
	rapid.Check(t, func(rt *rapid.T) {
		blank, block, most := rapid.IntRange(1, 10).Draw(rt, "blanks"), rapid.IntRange(0, 4).Draw(rt, "block"), rapid.IntRange(1, 12).Draw(rt, "max_nfe")
		var log steps
		var drawn []int64
		d := &goDenoiser{v: v, logits: hashLogits(v)}
		d.seen = func(b *sampling.Batch) { drawn = slices.Clone(b.Tokens) }
		res, _, err := run{denoiser: d, plan: leftmost, requests: []sampling.Request{{Tokens: slices.Repeat([]int32{v - 1}, blank)}}, observers: []sampling.Observer{&log},
			frame: func(c *sampling.LoopConfig) { c.Blocks.Length, c.MaxNFE = block, most }}.do(t)
		if err != nil {
			rt.Fatal(err)
		}
		r, want := res[0], sampling.FinishComplete
		if most < blank {
			want = sampling.FinishSteps
		}
		if r.NFE != min(most, blank) || r.Finish != want || slices.Contains(r.Tokens, v-1) {
			rt.Fatalf("%d blanks, at most %d passes: %d, %s, tokens %v", blank, most, r.NFE, r.Finish, r.Tokens)
		}
		logits := make([]float32, blank*v)
		hashLogits(v)(drawn, logits)
		for i := range blank {
			z := logits[i*v : (i+1)*v-1]
			if best := slices.Index(z, slices.Max(z)); drawn[i] == v-1 && int(r.Tokens[i]) != best {
				rt.Fatalf("position %d opened as %d, the last pass proposes %d", i, r.Tokens[i], best)
			}
		}
	})
}

// The model sees rows of the length that was asked for, masked behind their end; neither planners nor results do.
func TestPadTo(t *testing.T) {
	d := &goDenoiser{v: 4, logits: hashLogits(4)}
	d.seen = func(b *sampling.Batch) {
		want := "[1 1 1 1 1] [0 1 1 0 0]" // attention, active in the first pass
		if b.L != 5 || b.Tokens[3] != 3 || b.Tokens[4] != 3 || d.passes == 1 && fmt.Sprint(b.Attention[:5], b.Active[:5]) != want {
			t.Errorf("pass %d: tokens %v, attention %v, active %v", d.passes, b.Tokens, b.Attention, b.Active)
		}
	}
	var got []sight
	plan := func(r *sampling.Row, d *sampling.Decision) { got = append(got, sightOf(r)); leftmost(r, d) }
	res, _, err := run{denoiser: d, plan: plan, rows: 2, requests: []sampling.Request{{Index: 0, Tokens: []int32{0, 3, 3}}, {Index: 1, Tokens: []int32{3}}},
		frame: func(c *sampling.LoopConfig) { c.PadTo = 5 }}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []sight{{0, 1, 2, 2, 0, 0, 2, 1, .5, 2}, {1, 0, 1, 1, 0, 0, 1, 1, 0, 1}, {0, 1, 2, 2, 0, 1, 2, .5, 0, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows of different lengths share a pass when they look alike (-want +got):\n%s", diff)
	}
	for i, n := range []int{3, 1} {
		if r := res[int64(i)]; len(r.Tokens) != n || len(r.StepMap) != n || r.Finish != sampling.FinishComplete {
			t.Errorf("row %d ended as %+v", i, r)
		}
	}
}

// The scores of a planner's network are held back as well, whether the host or the sampler asks for the pass; what was
// written keeps its own.
func TestHeldBackTokensHaveNoPlannerScore(t *testing.T) {
	for _, driven := range []bool{false, true} {
		var got []float32
		plan := func(r *sampling.Row, d *sampling.Decision) {
			got = append(got, slices.Clone(r.PlannerScore)...)
			d.Open = append(d.Open, eligible(r)...)
		}
		loop, _ := scoredLoop(t, &scorerFunc{f: func(*sampling.Candidates, int) float32 { return -1 }}, plan, sampling.Needs{PlannerScore: true},
			[]sampling.Request{{Tokens: []int32{5, 1, 5}, Fixed: []bool{false, false, false}}})
		loop.HoldBack = []int32{0, 1, 2, 3, 4}
		if _, err := loop.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if step := []sampling.Advance{{T: 1}}; driven {
			if _, err = loop.Denoise(t.Context(), step); err == nil {
				_, err = loop.Plan(t.Context())
			}
		} else {
			_, err = loop.Advance(t.Context(), step)
		}
		if err != nil {
			t.Fatal(err)
		}
		none := float32(math.Inf(-1))
		if diff := cmp.Diff([]float32{none, -1, none}, got); diff != "" {
			t.Errorf("driven by the sampler %v (-want +got):\n%s", driven, diff)
		}
	}
}

// A run that is interrupted between steps without a pass ends.
func TestPausesCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plans := 0
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: &goDenoiser{v: 4, logits: hashLogits(4)}, MaskID: 3, V: 3, Rows: 1,
		Planner: planFunc(func(*sampling.Row, *sampling.Decision) {
			if plans++; plans == 3 {
				cancel()
			}
		}),
		Next: func() (sampling.Request, bool) { return sampling.Request{Tokens: []int32{3}, Steps: 1000}, true },
		Sink: func(sampling.Result) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := masked.New().Sample(ctx, loop); !errors.Is(err, context.Canceled) || plans != 3 {
		t.Errorf("%v after %d plans, want context.Canceled after 3", err, plans)
	}
}
