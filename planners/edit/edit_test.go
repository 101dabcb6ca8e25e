package edit_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/edit"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

func TestAgainstReference(t *testing.T) {
	var cases []struct {
		Options   json.RawMessage
		Row, Best []int32
		Fixed, P1 []int
		Open      []int32
		Overwrite [][2]int32
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	for n, c := range cases {
		p := edit.New()
		try.Start(t, p, string(c.Options))
		r := try.Row(c.Row, 0, 100, c.Fixed...)
		r.P1, r.K, r.TopIDs = try.Units(c.P1, float32(4096)), 1, c.Best
		got := try.Ask(t, p, r)
		var writes []sampling.Write
		for _, w := range c.Overwrite {
			writes = append(writes, sampling.Write{Position: w[0], Token: w[1]})
		}
		if diff := cmp.Diff(sampling.Decision{Open: c.Open, Overwrite: writes}, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(got, "Metrics")); diff != "" {
			t.Errorf("case %d %s (-reference +ours):\n%s", n, c.Options, diff)
		}
	}
	if len(cases) < 200 {
		t.Errorf("%d cases, expected at least 200", len(cases))
	}
}

// mends is a model that takes every token for a 1 while there are masks, and for a 0 afterwards.
func mends(tokens []int64, out []float32) {
	masks := 0
	for _, token := range tokens {
		if token == 2 {
			masks++
		}
	}
	for i := range tokens {
		out[3*i], out[3*i+1] = 9, 0
		if masks > 0 {
			out[3*i], out[3*i+1] = 0, 9
		}
	}
}

// restless is a model that always prefers the other token.
func restless(tokens []int64, out []float32) {
	for i, token := range tokens {
		if out[3*i], out[3*i+1] = 9, 0; token == 0 {
			out[3*i], out[3*i+1] = 0, 9
		}
	}
}

// A full row is edited until nothing changes, for at most max_post_steps.
func TestPostSteps(t *testing.T) {
	run := func(options string, logits func([]int64, []float32)) sampling.Result {
		return try.Run{Planner: edit.New, Options: options, SamplerOptions: `{}`, Model: try.Denoiser{V: 3, Logits: logits}, Batch: 1,
			Requests: []sampling.Request{{Tokens: slices.Repeat([]int32{2}, 6), Steps: 50}}}.Do(t)[0]
	}
	for _, c := range []struct {
		name, options string
		model         func([]int64, []float32)
		nfe, revised  int
		tokens        []int32
	}{
		{"opens all, edits all, finds nothing to change", `{}`, mends, 3, 6, []int32{0, 0, 0, 0, 0, 0}},
		{"no post steps", `{"max_post_steps":0}`, mends, 1, 0, []int32{1, 1, 1, 1, 1, 1}},
		{"never edits: threshold alone", `{"editing_threshold":1}`, mends, 1, 0, []int32{1, 1, 1, 1, 1, 1}},
		{"never content", `{"max_post_steps":4}`, restless, 5, 24, []int32{0, 0, 0, 0, 0, 0}},
	} {
		got := run(c.options, c.model)
		if got.NFE != c.nfe || got.Revised != c.revised || !slices.Equal(got.Tokens, c.tokens) || got.Finish != sampling.FinishComplete {
			t.Errorf("%s: %d forwards, %d revisions, tokens %v, %s; want %d, %d, %v", c.name, got.NFE, got.Revised, got.Tokens, got.Finish, c.nfe, c.revised, c.tokens)
		}
	}
}
