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

// reverse is the exact distribution of the ancestral sampler's result: the reverse process over all 3^L canvases of two
// tokens, for opening probabilities p per step.
func reverse(j try.Joint, open []float64) []float64 {
	at := map[string]float64{string(slices.Repeat([]byte{2}, j.L)): 1}
	for _, p := range open {
		next := map[string]float64{}
		for canvas, mass := range at {
			tokens := make([]int64, j.L)
			for i := range j.L {
				tokens[i] = int64(canvas[i])
			}
			conditionals := j.Conditionals(tokens)
			var spread func(i int, row []byte, m float64)
			spread = func(i int, row []byte, m float64) {
				switch {
				case m == 0:
				case i == j.L:
					next[string(row)] += m
				case tokens[i] != 2:
					spread(i+1, append(row, canvas[i]), m)
				default:
					one := conditionals[2*i+1]
					spread(i+1, append(slices.Clone(row), 2), m*(1-p))
					spread(i+1, append(slices.Clone(row), 1), m*p*one)
					spread(i+1, append(slices.Clone(row), 0), m*p*(1-one))
				}
			}
			spread(0, nil, mass)
		}
		at = next
	}
	out := make([]float64, len(j.P))
	for canvas, mass := range at {
		row := 0
		for i := range j.L {
			row = 2*row + int(canvas[i])
		}
		out[row] += mass
	}
	return out
}

func distance(p, q []float64) (tv float64) {
	for i := range p {
		tv += math.Abs(p[i]-q[i]) / 2
	}
	return tv
}

// What the sampler draws has the distribution of the reverse process on the grid's times, and that process approaches the
// joint as the steps grow. Total variation of n draws from the truth has mean at most m = sum_i sqrt(p_i (1-p_i) / n) / 2
// and, by McDiarmid, P(TV > m + e) <= exp(-2 n e^2); e = sqrt(ln(1e8)/(2n)) makes false alarms rarer than 1e-8 a case.
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
			var open []float64
			for i := range steps {
				open = append(open, 1-time(i+1, steps)/time(i, steps))
			}
			open[steps-1] = 1
			exact := reverse(j, open) // [2^L]
			if d := distance(exact, j.P); d > 0.7*far {
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
			drawn, mean := make([]float64, len(j.P)), 0.0
			for _, r := range results {
				row := 0
				for _, token := range r.Tokens {
					row = 2*row + int(token)
				}
				drawn[row] += 1.0 / n
			}
			for _, p := range exact {
				mean += math.Sqrt(p*(1-p)/n) / 2
			}
			if d, most := distance(drawn, exact), mean+math.Sqrt(math.Log(1e8)/(2*n)); d > most {
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
