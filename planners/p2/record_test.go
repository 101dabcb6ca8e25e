package p2_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/p2"
)

const conditional = `{"unmask_token":"redrawn","condition":"cond"}`

// Of four written tokens one repeats and was surer, one repeats and was not, one is another, one was there from the start.
func TestConditionalRemasksWhatFadedAlone(t *testing.T) {
	p, _ := started(t, []byte(conditional))
	r := try.Row([]int32{5, try.Mask, try.Mask, try.Mask, try.Mask}, 0, 2)
	r.Proposal, r.LogpProposal = []int32{5, 1, 2, 3, 4}, []float32{-0.5, -1, -2, -1, -9}
	r.Blanks = 3 // one stays masked
	if diff := cmp.Diff([]int32{1, 2, 3}, try.Ask(t, p, r).Open); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	next := try.Row([]int32{5, 1, 2, 3, try.Mask}, 1, 10) // four of five stay masked
	next.Proposal, next.LogpProposal = []int32{5, 1, 2, 7, 4}, []float32{-3, -3, -1.5, -3, -0.1}
	want := sampling.Decision{Open: []int32{4}, Remask: []int32{0, 1}}
	if diff := cmp.Diff(want, try.Ask(t, p, next), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fresh planner knows nothing of a row that is on its way, and says so instead of deciding otherwise.
func TestConditionalRefusesARowWithoutPast(t *testing.T) {
	p, _ := started(t, []byte(conditional))
	r := try.Row([]int32{1, try.Mask}, 1, 2)
	r.Proposal, r.LogpProposal = []int32{1, 1}, []float32{-1, -1}
	err := p.Plan(context.Background(), &sampling.Step{Rows: []sampling.Row{r}}, make([]sampling.Decision, 1))
	if err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

// Whole runs: rows share slots and batches, and yet come out as if alone, whatever the setting.
func TestRowsAreIndependent(t *testing.T) {
	const v = 5
	logits := func(tokens []int64, out []float32) {
		h := uint64(3)
		for _, x := range tokens {
			h = (h ^ uint64(x)) * 1099511628211
		}
		rng := rand.New(rand.NewPCG(h, 1))
		for i := range out {
			out[i] = float32(1.5 * rng.NormFloat64())
		}
	}
	var requests []sampling.Request
	for i, n := range []int{9, 1, 12, 5, 12, 7, 3} {
		r := sampling.Request{Index: int64(i), Steps: n + i%3, Params: sampling.Params{Temperature: 1, TopP: 1}}
		for range n {
			r.Tokens = append(r.Tokens, v)
		}
		requests = append(requests, r)
	}
	for _, options := range []string{conditional,
		`{"unmask_token":"redrawn","condition":"cond","planner_temperature":1,"planner_anneal":"kappa","kappa":"cosine"}`,
		`{"unmask_token":"redrawn","score_logits":"tempered"}`, `{"unmask_score":"uniform","mask_score":"uniform"}`,
		`{"unmask_score":"keep","kappa":"cosine","planner_temperature":4.5,"planner_anneal":"linear"}`,
		`{"mask_score":"margin","unmask_score":"neg_entropy","eta_mode":"code_masked","eta":0.5}`} {
		run := try.Run{Planner: p2.New, Options: options, Model: try.Denoiser{V: v + 1, Logits: logits}, Seed: 11, Batch: 3, Requests: requests}
		together, revised := run.Do(t), 0
		for _, r := range requests {
			run.Batch, run.Requests = 1, []sampling.Request{r}
			alone, got := run.Do(t)[r.Index], together[r.Index]
			if diff := cmp.Diff(alone.Tokens, got.Tokens); diff != "" || alone.NFE != got.NFE {
				t.Errorf("%s, row %d: %d forwards alone, %d among others (-alone +among others):\n%s", options, r.Index, alone.NFE, got.NFE, diff)
			}
			revised += got.Revised
		}
		if keeps := strings.Contains(options, "keep"); keeps != (revised == 0) {
			t.Errorf("%s: %d tokens masked again", options, revised)
		}
	}
}
