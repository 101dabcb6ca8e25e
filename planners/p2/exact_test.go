package p2_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/p2"
)

// law is the exact distribution over rows [V^L] of P2 with the self planner, one position more a step, by enumeration of all
// proposals: the k best by probability stay, where that of written tokens counts to the power eta.
func law(j try.Joint, eta float64) []float64 {
	at := map[string]float64{string(slices.Repeat([]byte{byte(j.V)}, j.L)): 1}
	for k := 1; k <= j.L; k++ {
		next := map[string]float64{}
		for canvas, mass := range at {
			tokens := make([]int64, j.L)
			for i := range j.L {
				tokens[i] = int64(canvas[i])
			}
			p := j.Others(tokens)
			var draw func(i int, z []byte, m float64)
			draw = func(i int, z []byte, m float64) {
				switch {
				case i == j.L:
					next[string(best(j, p, []byte(canvas), z, k, eta))] += m
				case int(canvas[i]) < j.V:
					draw(i+1, append(slices.Clone(z), canvas[i]), m)
				default:
					for v := range j.V {
						draw(i+1, append(slices.Clone(z), byte(v)), m*p[i*j.V+v])
					}
				}
			}
			draw(0, nil, mass)
		}
		at = next
	}
	out := make([]float64, len(j.P))
	for canvas, mass := range at {
		out[try.Number(j, []byte(canvas))] += mass
	}
	return out
}

// best keeps the k best positions of the proposals and masks the others.
func best(j try.Joint, p []float64, canvas, z []byte, k int, eta float64) []byte {
	score, order, out := make([]float64, j.L), make([]int, j.L), slices.Repeat([]byte{byte(j.V)}, j.L)
	for i := range j.L {
		order[i], score[i] = i, math.Log(p[i*j.V+int(z[i])])
		if int(canvas[i]) < j.V {
			score[i] *= eta
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return 0
	})
	for _, i := range order[:k] {
		out[i] = z[i]
	}
	return out
}

// Rows that the host samples follow the exact law of P2's top-k, which is not the joint: the order depends on what was
// drawn. An order that does not look at the tokens gives the joint.
func TestExactLaw(t *testing.T) {
	const n = 20000
	j := try.NewJoint(3, 3, 0, 4)
	model := try.Denoiser{V: j.V + 1, Logits: j.LogitsOfOthers}
	var requests []sampling.Request
	for i := range n {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{int32(j.V)}, j.L),
			Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	laws := map[string][]float64{`{"mask_score":"uniform","unmask_score":"keep"}`: j.P, `{"unmask_score":"keep"}`: law(j, 0)}
	for _, eta := range []float64{0.5, 1, 2} {
		laws[fmt.Sprintf(`{"eta":%v}`, eta)] = law(j, eta)
	}
	for options, want := range laws {
		got := make([]float64, len(want))
		for _, r := range (try.Run{Planner: p2.New, Options: options, Model: model, Seed: 3, Batch: 64, Requests: requests}).Do(t) {
			got[try.Number(j, r.Tokens)] += 1.0 / n
		}
		if tv, most := try.Distance(got, want), try.ByChance(want, n); tv > most {
			t.Errorf("%s: total variation %.4f from its law, at most %.4f by chance", options, tv, most)
		}
		t.Logf("%s: total variation %.4f from its law, law %.3f from the joint", options, try.Distance(got, want), try.Distance(want, j.P))
	}
}
