package genmd4_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/genmd4"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// The toy of the sheet md4.md, X1: three positions of two tokens, whose exponents differ. Rows are numbers, the first token the most
// significant bit; a canvas has digits 0, 1 and 2, the mask.
const (
	length = 3
	masked = 2
)

var exponents = []float32{0.8, 1.9}

// joint is the data.
func joint() []float64 {
	p := slices.Repeat([]float64{0.001}, 8)
	p[0b001], p[0b110], p[0b100], p[0b011] = 0.401, 0.301, 0.201, 0.101
	for i := range p {
		p[i] /= 1.008
	}
	return p
}

func token(row, i int) int { return row >> (length - 1 - i) & 1 }

// posterior is mu [L][2] at a time: a mask that is still there speaks for slow tokens, t^w.
func posterior(p []float64, t float64, canvas [length]int) (mu [length][2]float64) {
	sum := 0.0
	for row, q := range p {
		for i, z := range canvas {
			switch x := token(row, i); {
			case z == masked:
				q *= math.Pow(t, float64(exponents[x]))
			case z != x:
				q = 0
			}
		}
		sum += q
		for i := range length {
			mu[i][token(row, i)] += q
		}
	}
	for i := range mu {
		mu[i][0], mu[i][1] = mu[i][0]/sum, mu[i][1]/sum
	}
	return mu
}

// process pushes the distribution over canvases through the steps of the reverse process, exactly: a mask becomes i with
// probability mu_i (1 - (s/t)^{w_i}).
func process(p []float64, steps int) []float64 {
	at := map[[length]int]float64{{masked, masked, masked}: 1}
	for k := range steps {
		t, s := 1-float64(k)/float64(steps), 1-float64(k+1)/float64(steps)
		next := map[[length]int]float64{}
		for canvas, mass := range at {
			mu := posterior(p, t, canvas)
			var spread func(i int, z [length]int, m float64)
			spread = func(i int, z [length]int, m float64) {
				if i == length {
					next[z] += m
					return
				}
				if canvas[i] != masked {
					spread(i+1, z, m)
					return
				}
				for x, q := range mu[i] {
					stay := math.Pow(s/t, float64(exponents[x]))
					z[i] = x
					spread(i+1, z, m*q*(1-stay))
					z[i] = masked
					spread(i+1, z, m*q*stay)
				}
			}
			spread(0, canvas, mass)
		}
		at = next
	}
	out := make([]float64, len(p))
	for row := range out {
		out[row] = at[[length]int{token(row, 0), token(row, 1), token(row, 2)}]
	}
	return out
}

// sample draws rows through the step loop and counts them.
func sample(t *testing.T, p []float64, steps, rows int) (counts []float64) {
	logits := func(time float64, tokens []int64, out []float32) {
		mu := posterior(p, time, [length]int{int(tokens[0]), int(tokens[1]), int(tokens[2])})
		for i := range mu {
			out[3*i], out[3*i+1], out[3*i+2] = float32(math.Log(mu[i][0])), float32(math.Log(mu[i][1])), 50
		}
	}
	var requests []sampling.Request
	for i := range rows {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: []int32{masked, masked, masked}, Steps: steps, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	counts = make([]float64, len(p))
	for _, r := range (try.Run{Planner: genmd4.New, Options: `{}`, SamplerOptions: `{"grid":"linear"}`, Model: try.Denoiser{V: 3, Timed: logits},
		Seed: 5, Batch: 64, Requests: requests, Exponents: exponents}).Do(t) {
		if r.Finish != sampling.FinishComplete {
			t.Fatalf("row %d ended as %s", r.Index, r.Finish)
		}
		counts[r.Tokens[0]<<2|r.Tokens[1]<<1|r.Tokens[2]]++
	}
	return counts
}

// What the planner draws has the law of the reverse process on the grid's times, and that law comes as near to the data as the sheet
// says. False alarms: a chi-square with 7 degrees of freedom exceeds 46 once in 10^7 cases.
func TestTheLaw(t *testing.T) {
	const rows = 20000
	p := joint()
	for steps, want := range map[int]float64{2: 0.275, 8: 0.076, 32: 0.020, 128: 0.005} {
		law := process(p, steps)
		if d := try.Distance(law, p); math.Abs(d-want) > 6e-4 {
			t.Errorf("%d steps: the law is %.4f from the data, the sheet says %.3f", steps, d, want)
		}
		if steps > 32 {
			continue
		}
		chi := 0.0
		for row, n := range sample(t, p, steps, rows) {
			chi += (n - rows*law[row]) * (n - rows*law[row]) / (rows * law[row])
		}
		if chi > 46 {
			t.Errorf("%d steps: chi-square %.1f with 7 degrees of freedom against the exact law", steps, chi)
		}
		t.Logf("%d steps: chi-square %.1f", steps, chi)
	}
}

// A step opens by the speed of the proposal; the last one opens everything, and so does one that ends at time 0.
func TestAStep(t *testing.T) {
	p := genmd4.New()
	if _, err := p.Start(t.Context(), sampling.Run{Options: []byte(`{}`), V: 3, Exponents: []float32{0.5, 1, 4}}); err != nil {
		t.Fatal(err)
	}
	r := try.Row(try.Blank(6), 0, 4)
	r.T, r.S = 1, 0.25
	r.Proposal = []int32{0, 0, 1, 1, 2, 2}
	open := []float64{0.5, 0.5, 0.75, 0.75, 1 - 1.0/256, 1 - 1.0/256}
	for i := range open {
		r.Uniform = append(r.Uniform, open[i]+1e-9-2e-9*float64(i%2))
	}
	if got := fmt.Sprint(try.Ask(t, p, r).Open); got != "[1 3 5]" {
		t.Errorf("opens %s, want [1 3 5]", got)
	}
	r.Flags[5] = sampling.Masked // not eligible
	if got := fmt.Sprint(try.Ask(t, p, r).Open); got != "[1 3]" {
		t.Errorf("opens %s, want [1 3]", got)
	}
	r.S = 0
	if got := fmt.Sprint(try.Ask(t, p, r).Open); got != "[0 1 2 3 4]" {
		t.Errorf("up to time 0 it opens %s", got)
	}
	r.S, r.Step = 0.9, 3
	if got := fmt.Sprint(try.Ask(t, p, r).Open); got != "[0 1 2 3 4]" {
		t.Errorf("the last step opens %s", got)
	}
}

func TestRefusals(t *testing.T) {
	for want, w := range map[string][]float32{
		"planner genmd4: INVALID_CONFIG: the model has no exponents; train one with trainer genmd4, or choose planner ancestral": nil,
		"planner genmd4: INVALID_CONFIG: the model has exponents of 2 tokens, expected them of all 3":                            {1, 1},
	} {
		if _, err := genmd4.New().Start(context.Background(), sampling.Run{Options: []byte(`{}`), V: 3, Exponents: w}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s...", err, want)
		}
	}
}
