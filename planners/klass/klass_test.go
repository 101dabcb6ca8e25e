package klass_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/klass"
)

// Along whole rows, every step opens what the numpy reference opens.
func TestAgainstReference(t *testing.T) {
	var rows []struct {
		Options             json.RawMessage
		Blanks, Cap, Offset int
		Steps               []struct {
			Flags               []sampling.Flags
			P1, P2, Entropy, KL []int
			Open                []int32
			Rest                bool
		}
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &rows)
	p, states, resting := klass.New(), 0, 0
	for number, g := range rows {
		try.Start(t, p, string(g.Options))
		for i, s := range g.Steps {
			r := sampling.Row{Index: int64(number), Slot: number % 3, Offset: g.Offset, Blanks: g.Blanks, Step: i, Steps: g.Cap, Flags: s.Flags,
				P1: try.Units[float32](s.P1, 4096), P2: try.Units[float32](s.P2, 4096), Entropy: try.Units[float32](s.Entropy, 64), KLPrev: try.Units[float32](s.KL, 1024)}
			for j, kl := range s.KL {
				if kl < 0 {
					r.KLPrev[j] = float32(math.Inf(1))
				}
			}
			if states++; s.Rest {
				resting++
			}
			if diff := cmp.Diff(s.Open, try.Ask(t, p, r).Open, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("row %d %s, step %d (-reference +ours):\n%s", number, g.Options, i, diff)
			}
		}
	}
	if states < 200 || resting < 100 {
		t.Errorf("%d states, %d of them with positions at rest; expected 200 and 100", states, resting)
	}
}

// sample fills 9 blanks of a model that nothing changes and returns the result.
func sample(t *testing.T, options string, steps int) sampling.Result {
	model := try.Denoiser{V: 4, Logits: func(tokens []int64, out []float32) {
		for i := range tokens {
			copy(out[4*i:], []float32{float32(i) + 2, 0, 1, 100}) // surer to the right
		}
	}}
	request := sampling.Request{Tokens: []int32{3, 3, 3, 3, 3, 3, 3, 3, 3}, Steps: steps, Params: sampling.Params{TopP: 1}}
	return try.Run{Planner: klass.New, Options: options, SamplerOptions: `{}`, Model: model, Requests: []sampling.Request{request}}.Do(t)[0]
}

// Without thresholds everything opens after the history; with one that nothing meets LLaDA's schedule is left.
func TestIdentities(t *testing.T) {
	for _, c := range []struct {
		options string
		steps   int
		want    []int32
	}{
		{`{"conf_threshold":0,"kl_threshold":"inf"}`, 9, []int32{2, 2, 2, 2, 2, 2, 2, 1, 0}},
		{`{"conf_threshold":0,"kl_threshold":"inf","history_length":4}`, 9, []int32{4, 4, 4, 4, 4, 3, 2, 1, 0}},
		{`{"conf_threshold":0,"kl_threshold":1e-6}`, 9, []int32{2, 2, 2, 2, 2, 2, 2, 1, 0}}, // nothing changes: the divergence is 0
		{`{"kl_threshold":0}`, 9, []int32{8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{`{"conf_threshold":1,"kl_threshold":"inf"}`, 3, []int32{2, 2, 2, 1, 1, 1, 0, 0, 0}},
		{`{"conf_threshold":0,"kl_threshold":"inf","unmask":"max_conf"}`, 9, []int32{8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{`{"conf_threshold":0,"kl_threshold":"inf","unmask":"min_kl"}`, 9, []int32{2, 3, 4, 5, 6, 7, 8, 1, 0}}, // all 0: from the left
		{`{}`, 9, []int32{8, 7, 6, 5, 4, 3, 2, 1, 0}},
	} {
		got := sample(t, c.options, c.steps)
		if diff := cmp.Diff(c.want, got.StepMap); diff != "" && c.options != `{}` {
			t.Errorf("%s (-want +got):\n%s", c.options, diff)
		}
		if c.options == `{}` && !(got.NFE > 3 && got.NFE < 9) {
			t.Errorf("the defaults take %d passes, expected fewer than one a position", got.NFE)
		}
	}
}

func TestNeedsFollowTheOptions(t *testing.T) {
	for options, want := range map[string]string{
		`{}`: "p1, kl_prev", `{"confidence":"drawn"}`: "logp_proposal(on=model), kl_prev",
		`{"alg":"margin"}`: "p1, p2, kl_prev", `{"alg":"entropy","confidence":"drawn"}`: "logp_proposal(on=model), entropy(on=model), kl_prev",
	} {
		if got := try.Start(t, klass.New(), options).String(); got != want {
			t.Errorf("%s needs %s, want %s", options, got, want)
		}
	}
}
