package wino_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/threshold"
	"github.com/mdmhost/mdmhost/planners/wino"
)

// Rows of steps open and mask what the numpy function does.
func TestAgainstReference(t *testing.T) {
	var cases []struct {
		Options json.RawMessage
		Fixed   []int
		Steps   []struct {
			Row              []int32
			P1, Drawn, Alone []int
			Open, Remask     []int32
		}
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	states, remasks := 0, 0
	for n, c := range cases {
		p := wino.New()
		try.Start(t, p, string(c.Options))
		for step, s := range c.Steps {
			r := try.Row(s.Row, step, 100, c.Fixed...)
			r.P1, r.LogpProposal, r.LogpLeaveOneOut = try.Units(s.P1, float32(4096)), try.Units(s.Drawn, float32(-64)), try.Units(s.Alone, float32(-64))
			got := try.Ask(t, p, r)
			if diff := cmp.Diff(sampling.Decision{Open: s.Open, Remask: s.Remask}, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(got, "Metrics")); diff != "" {
				t.Errorf("case %d, step %d, %s (-reference +ours):\n%s", n, step, c.Options, diff)
			}
			if got.Metrics["remasked"] != float64(len(s.Remask)) {
				t.Errorf("case %d, step %d: metrics %v for %d masks", n, step, got.Metrics, len(s.Remask))
			}
			states++
			remasks += min(len(s.Remask), 1)
		}
	}
	if states < 200 || remasks < 100 {
		t.Errorf("%d states, %d with masks; expected at least 200 and 100", states, remasks)
	}
}

// Without a way back and with room for all, it is threshold, and needs nothing that a model may lack.
func TestNarrowOutZeroIsThreshold(t *testing.T) {
	a, b := wino.New(), threshold.New()
	needs := try.Start(t, a, `{"wide_in":0.5,"narrow_out":0,"max_accept":99,"accept_ratio":1,"confidence":"max"}`)
	if needs.LogpLeaveOneOut {
		t.Error("it needs logp_leave_one_out, which it does not read")
	}
	try.Start(t, b, `{"threshold":0.5,"strict":true}`)
	for _, p1 := range [][]float32{{0.1, 0.9, 0.6, 0.5, 0.7}, {0.1, 0.3, 0.2, 0.5, 0.4}, {0.9, 0.9, 0.9, 0.9, 0.9}} {
		r := try.Row([]int32{try.Mask, 3, try.Mask, try.Mask, try.Mask}, 0, 9)
		r.P1 = p1
		if diff := cmp.Diff(try.Ask(t, b, r), try.Ask(t, a, r), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v (-threshold +wino):\n%s", p1, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	for options, want := range map[string]string{
		`{"min_accept":9,"max_accept":3}`: "min_accept 9, max_accept 3",
		`{"remask_limit":"none"}`:         "remask_limit",
	} {
		if _, err := wino.New().Start(t.Context(), sampling.Run{Options: []byte(options)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// A row of one token repeated is all the model wants, and it is unsure of the first guesses: WINO takes back what the rest of the
// row speaks against, where threshold keeps it.
func TestTakesBackWhatTheRestDoubts(t *testing.T) {
	// Token 0 or 1, the mask is 2. Most positions follow the majority of the others; the first three begin with a 1 that nobody
	// shares.
	model := func(tokens []int64, out []float32) {
		ones, zeros := 0, 0
		for _, x := range tokens {
			ones += int(x & 1)
			if x == 0 {
				zeros++
			}
		}
		for i, x := range tokens {
			o, z := ones-int(x&1), zeros
			if x == 0 {
				z--
			}
			lean := float32(z-o)/2 + 0.8 // towards 0
			if i < 3 && z+o < 3 {
				lean = -1 // towards 1, while there is little to see
			}
			out[3*i], out[3*i+1] = lean, 0
		}
	}
	run := func(planner func() sampling.Planner, options string) sampling.Result {
		return try.Run{Planner: planner, Options: options, SamplerOptions: `{}`, Model: try.Denoiser{V: 3, Logits: model}, Batch: 1,
			Requests: []sampling.Request{{Tokens: slices.Repeat([]int32{2}, 10)}}}.Do(t)[0]
	}
	kept := run(threshold.New, `{"threshold":0.6,"strict":true}`)
	taken := run(wino.New, `{}`)
	if want := []int32{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(kept.Tokens, want) {
		t.Errorf("threshold wrote %v, want %v", kept.Tokens, want)
	}
	if want := make([]int32, 10); !slices.Equal(taken.Tokens, want) || taken.Revised < 3 || taken.Finish != sampling.FinishComplete {
		t.Errorf("wino wrote %v with %d revisions (%s), want %v", taken.Tokens, taken.Revised, taken.Finish, want)
	}
	if taken.NFE > 10 || math.IsNaN(float64(taken.Logp[0])) {
		t.Errorf("%d forwards, log-probability %v", taken.NFE, taken.Logp[0])
	}
}
