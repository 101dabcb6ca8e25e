package ancestral_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/ancestral"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// What the sampler draws has the distribution of the reverse process on the grid's times, and that process approaches the
// joint as the steps grow. False alarms: below 1e-8 a case.
func TestTheReverseProcess(t *testing.T) {
	const n, l = 8000, 4
	j := try.NewJoint(l, 2, 0, 5)
	times := map[string]func(i, steps int) float64{
		"linear": func(i, steps int) float64 { return 1 - float64(i)/float64(steps) },
		"cosine": func(i, steps int) float64 { return math.Cos(math.Pi / 2 * float64(i) / float64(steps)) },
	}
	for grid, time := range times {
		far := math.Inf(1)
		for _, steps := range []int{1, 3, 9, 27} {
			var coins []try.Coin
			for i := range steps {
				coins = append(coins, try.Coin{Open: 1 - time(i+1, steps)/time(i, steps)})
			}
			coins[steps-1].Open = 1
			exact := j.Process(coins) // [2^L]
			if d := try.Distance(exact, j.P); d > 0.7*far {
				t.Errorf("%s, %d steps: distance %.4f from the joint, %.4f with a third of the steps", grid, steps, d, far)
			} else {
				far = d
			}
			var requests []sampling.Request
			for i := range n {
				requests = append(requests, sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{2}, l), Steps: steps,
					Params: sampling.Params{Temperature: 1, TopP: 1}})
			}
			results := try.Run{Planner: ancestral.New, SamplerOptions: `{"grid":"` + grid + `"}`, Model: try.Denoiser{V: 3, Logits: j.Logits},
				Seed: 99, Batch: 64, Requests: requests}.Do(t)
			drawn := make([]float64, len(j.P))
			for _, r := range results {
				drawn[try.Number(j, r.Tokens)] += 1.0 / n
			}
			if d, most := try.Distance(drawn, exact), try.ByChance(exact, n); d > most {
				t.Errorf("%s, %d steps: distance %.4f from the reverse process, at most %.4f by chance", grid, steps, d, most)
			}
		}
		if far > 0.03 {
			t.Errorf("%s: still %.4f from the joint", grid, far)
		}
	}
}

// noise_removal argmax: what the last step opens is the most probable token, whatever was drawn.
func TestNoiseRemoval(t *testing.T) {
	sure := func(tokens []int64, out []float32) {
		for i := range tokens {
			out[3*i], out[3*i+1], out[3*i+2] = 0.1, 0, 9
		}
	}
	var requests []sampling.Request
	for i := range 200 {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: []int32{2, 2}, Steps: 2, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	for removal, late := range map[string]bool{"argmax": false, "draw": true} {
		ones := 0
		for _, r := range (try.Run{Planner: ancestral.New, Options: `{"noise_removal":"` + removal + `"}`, SamplerOptions: `{"grid":"linear"}`,
			Model: try.Denoiser{V: 3, Logits: sure}, Seed: 3, Batch: 8, Requests: requests}).Do(t) {
			if r.Finish != sampling.FinishComplete {
				t.Fatalf("row %d ended as %s", r.Index, r.Finish)
			}
			for i, token := range r.Tokens {
				if r.StepMap[i] == 1 && token == 1 {
					ones++
				}
			}
		}
		if (ones > 0) != late {
			t.Errorf("%s: %d late positions hold the less probable token", removal, ones)
		}
	}
	if got := fmt.Sprint(try.Start(t, ancestral.New(), `{}`)); got != "uniform" {
		t.Errorf("needs %s, want uniform alone where nothing asks for the argmax", got)
	}
}

// A step that opens nothing runs no forward pass: as many passes as there are rows on the way, one before each step that
// opens something, however many steps there are.
func TestPassesOfManySteps(t *testing.T) {
	const l, steps = 5, 400
	j := try.NewJoint(l, 2, 0, 5)
	var requests []sampling.Request
	for i := range 200 {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{2}, l), Steps: steps, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	var first map[int64]sampling.Result
	for _, batch := range []int{1, 7, 64} {
		results := try.Run{Planner: ancestral.New, Options: `{"noise_removal":"argmax"}`, SamplerOptions: `{"grid":"mdlm"}`, Model: try.Denoiser{V: 3, Logits: j.Logits},
			Seed: 12, Batch: batch, Requests: requests}.Do(t)
		for i, r := range results {
			if opening := slices.Compact(slices.Sorted(slices.Values(r.StepMap))); r.NFE != len(opening) {
				t.Fatalf("batch %d, row %d: %d passes, positions opened in steps %v", batch, i, r.NFE, opening)
			}
			if first != nil && (r.NFE != first[i].NFE || !slices.Equal(r.Tokens, first[i].Tokens) || !slices.Equal(r.StepMap, first[i].StepMap)) {
				t.Fatalf("batch %d, row %d: %+v, alone %+v", batch, i, r, first[i])
			}
		}
		if first == nil {
			first = results
		}
	}
}
