package p2_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/p2"
)

// anyRow has every statistic; the planner's network agrees with the denoiser about the tokens that it reads.
func anyRow(rt *rapid.T) sampling.Row {
	n := rapid.IntRange(1, 30).Draw(rt, "n")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	tokens := try.Blank(n)
	for i := range tokens {
		if rng.IntN(2) == 0 {
			tokens[i] = int32(rng.IntN(3))
		}
	}
	steps := rapid.IntRange(1, 2*n).Draw(rt, "steps")
	r := try.Row(tokens, rapid.IntRange(0, steps-1).Draw(rt, "step"), steps)
	for i := range n {
		r.Uniform = append(r.Uniform, rng.Float64())
		r.Gumbel = append(r.Gumbel, gumbel(rng.Float64()))
		r.Proposal = append(r.Proposal, int32(rng.IntN(3)))
		r.LogpProposal = append(r.LogpProposal, float32(-rng.ExpFloat64()))
		r.LogpCurrent = append(r.LogpCurrent, float32(-rng.ExpFloat64()))
		r.PlannerScore = append(r.PlannerScore, r.LogpProposal[i])
		if tokens[i] != try.Mask {
			r.PlannerScore[i] = r.LogpCurrent[i]
		}
		r.P1 = append(r.P1, rng.Float32())
		r.P2 = append(r.P2, r.P1[i]*rng.Float32())
		r.Entropy = append(r.Entropy, rng.Float32())
	}
	return r
}

// decide asks a planner with these options for one decision.
func decide(t *testing.T, options string, r sampling.Row) sampling.Decision {
	t.Helper()
	p, _ := started(t, []byte(options))
	return try.Ask(t, p, r)
}

// Options that must decide alike (section 3.7 of the sheet).
func TestIdentities(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := anyRow(rt)
		for _, pair := range [][2]string{
			{`{"eta":0}`, `{"unmask_score":"keep"}`},
			{`{"eta":0,"eta_mode":"paper"}`, `{"unmask_score":"keep"}`},
			{`{"eta":0,"unmask_score":"uniform"}`, `{"unmask_score":"keep","eta":3}`},
			{`{"eta_mode":"paper"}`, `{"eta_mode":"code"}`},
			{`{"eta_mode":"code_masked"}`, `{"eta_mode":"code"}`},
			{`{"unmask_score":"bert","eta":1.5}`, `{"eta":1.5}`},
			{`{"unmask_score":"trained","mask_score":"trained","eta":0.5}`, `{"eta":0.5}`},
			{`{"mask_score":"bert"}`, `{}`},
			{`{"planner_temperature":2,"planner_anneal":"kappa"}`, `{"planner_temperature":2,"planner_anneal":"linear"}`},
			{`{"planner_temperature":1e-9,"kappa":"sine"}`, `{"kappa":"sine"}`},
			{`{"unmask_score":"uniform","unmask_token":"redrawn"}`, `{"unmask_score":"uniform"}`},
		} {
			if diff := cmp.Diff(decide(t, pair[1], r), decide(t, pair[0], r), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("(-%s +%s):\n%s", pair[1], pair[0], diff)
			}
		}
		// Where a redrawn token is the present one, its score is that of the present one.
		same := r
		same.LogpCurrent = slices.Clone(r.LogpProposal)
		if diff := cmp.Diff(decide(t, `{"eta":1.5}`, same), decide(t, `{"eta":1.5,"unmask_token":"redrawn"}`, same), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("(-current +redrawn):\n%s", diff)
		}
	})
}

// Whatever else is asked for, "keep" never masks a written position again, and a larger eta never masks fewer.
func TestRemasking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := anyRow(rt)
		mode := rapid.SampledFrom([]string{"code", "paper", "code_masked"}).Draw(rt, "mode")
		common := `"eta_mode":"` + mode + `","mask_score":"` + rapid.SampledFrom([]string{"denoiser", "uniform", "margin", "neg_entropy"}).Draw(rt, "mask_score") + `"`
		if d := decide(t, `{"unmask_score":"keep","planner_temperature":3,"eta":2,`+common+`}`, r); len(d.Remask) > 0 {
			rt.Fatalf("keep masked %v again", d.Remask)
		}
		before := -1
		for _, eta := range []string{"0.1", "0.5", "1", "2", "8"} {
			now := len(decide(t, `{"eta":`+eta+`,`+common+`}`, r).Remask)
			if falls := now < before; before >= 0 && now != before && falls != (mode == "code_masked") {
				rt.Fatalf("%s: eta %s masks %d again, a smaller one %d", mode, eta, now, before)
			}
			before = now
		}
	})
}

// Scores of no probability at all, with and without noise, neither fail nor break the counts.
func TestImpossibleTokens(t *testing.T) {
	none := float32(math.Inf(-1))
	r := try.Row([]int32{1, try.Mask, 1, try.Mask}, 1, 4)
	r.LogpProposal, r.LogpCurrent = []float32{none, none, none, none}, []float32{none, none, none, none}
	r.Gumbel = []float64{0.1, 0.2, 0.3, 0.4}
	for _, mode := range []string{"code", "paper", "code_masked"} {
		for _, eta := range []string{"0", "0.5", "2"} {
			d := decide(t, `{"planner_temperature":1,"eta_mode":"`+mode+`","eta":`+eta+`}`, r)
			if got := count(apply(r.Token, []int32{5, 5, 5, 5}, d)); got != 2 && d.ActedAs == 0 {
				t.Errorf("%s, eta %s: %d masked, want 2", mode, eta, got)
			}
		}
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	for options, want := range map[string]string{
		`{"unmask_score":"bert"}`:                                              "planner.unmask_score",
		`{"mask_score":"trained"}`:                                             "planner.mask_score",
		`{"mask_score":"bert","unmask_score":"keep"}`:                          "--set planner.network=DIR",
		`{"score_logits":"tempered"}`:                                          "planner.unmask_token to redrawn",
		`{"score_logits":"tempered","mask_score":"margin"}`:                    "planner.score_logits to clean",
		`{"condition":"cond"}`:                                                 "unmask_token redrawn",
		`{"condition":"cond","unmask_token":"redrawn","mask_score":"uniform"}`: "planner.condition to uncond",
	} {
		_, err := p2.New().Start(t.Context(), sampling.Run{Options: []byte(options)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("options %s: got %v, want an error that says %q", options, err, want)
		}
	}
}

// The host computes what the options read and no more.
func TestNeeds(t *testing.T) {
	for options, want := range map[string]string{
		`{}`:                       "logp_proposal(on=model), logp_current",
		`{"unmask_score":"keep"}`:  "logp_proposal(on=model)",
		`{"eta":0}`:                "logp_proposal(on=model)",
		`{"mask_score":"uniform"}`: "logp_current, uniform",
		`{"mask_score":"uniform","unmask_score":"uniform"}`:         "uniform",
		`{"mask_score":"uniform","unmask_token":"redrawn"}`:         "logp_proposal(on=model), uniform",
		`{"score_logits":"tempered","unmask_token":"redrawn"}`:      "logp_proposal(on=tempered)",
		`{"mask_score":"margin","unmask_score":"neg_entropy"}`:      "p1, p2, entropy(on=model)",
		`{"unmask_score":"keep","planner_temperature":4.5}`:         "logp_proposal(on=model), gumbel",
		`{"unmask_token":"redrawn","condition":"cond"}`:             "proposal, logp_proposal(on=model)",
		`{"unmask_score":"bert"}`:                                   "logp_proposal(on=model), planner_score",
		`{"mask_score":"trained","unmask_score":"trained"}`:         "planner_score",
		`{"mask_score":"neg_entropy","unmask_score":"neg_entropy"}`: "entropy(on=model)",
	} {
		if _, needs := started(t, []byte(options)); needs.String() != want {
			t.Errorf("options %s need %s, want %s", options, needs, want)
		}
	}
}
