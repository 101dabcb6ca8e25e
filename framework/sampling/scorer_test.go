package sampling_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
)

// scorerFunc is a planner's network in a test; it keeps what it read.
type scorerFunc struct {
	f    func(c *sampling.Candidates, i int) float32
	read []sampling.Candidates
}

func (s *scorerFunc) Score(_ context.Context, c *sampling.Candidates) ([]float32, error) {
	s.read = append(s.read, sampling.Candidates{B: c.B, L: c.L, Tokens: slices.Clone(c.Tokens), Lengths: slices.Clone(c.Lengths),
		Proposed: slices.Clone(c.Proposed), Wanted: slices.Clone(c.Wanted)})
	out := make([]float32, c.B*c.L)
	for i := range out {
		out[i] = s.f(c, i)
	}
	return out, nil
}

// scoredLoop is a loop over tokens below 5 with mask 5 and padding 4 that takes rows, all at once, under a network and a planner that remasks.
func scoredLoop(t *testing.T, s sampling.Scorer, plan planFunc, needs sampling.Needs, rows []sampling.Request) (*sampling.Loop, map[int64]sampling.Result) {
	t.Helper()
	d := &goDenoiser{v: 6, logits: hashLogits(6), pad: true}
	if err := d.Configure(t.Context(), sampling.Head{Suppress: []int32{5}, Present: true}); err != nil {
		t.Fatal(err)
	}
	out, next := map[int64]sampling.Result{}, 0
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: d, Scorer: s, Planner: plan, PlannerName: "func", CanRemask: true, PlannerNeeds: needs,
		Seed: 5, MaskID: 5, PadID: 4, V: 5, Rows: len(rows),
		Next: func() (sampling.Request, bool) {
			if next == len(rows) {
				return sampling.Request{}, false
			}
			next++
			return rows[next-1], true
		},
		Sink: func(r sampling.Result) error { out[r.Index] = r; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return loop, out
}

// scoredRows have different lengths, by which the tests know them again.
func scoredRows() []sampling.Request {
	var rows []sampling.Request
	for i, tokens := range [][]int32{{5, 5, 2, 5}, {1, 5, 5}, {5, 5, 5, 5, 5, 0}} {
		rows = append(rows, sampling.Request{Index: int64(i), Tokens: tokens, Steps: 6, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	return rows
}

// revise opens what the network likes best and masks the worst written position every other step.
func revise(r *sampling.Row, d *sampling.Decision) {
	best, worst := -1, -1
	for i, f := range r.Flags {
		if f&sampling.Eligible != 0 && (best < 0 || r.PlannerScore[i] > r.PlannerScore[best]) {
			best = i
		}
		if f&(sampling.Masked|sampling.Fixed) == 0 && (worst < 0 || r.PlannerScore[i] < r.PlannerScore[worst]) {
			worst = i
		}
	}
	if best >= 0 {
		d.Open = append(d.Open, int32(best))
	}
	if worst >= 0 && r.Step%2 == 1 {
		d.Remask = append(d.Remask, int32(worst))
	}
}

// score is a network whose scores depend on the whole candidate row and on what is a proposal in it.
func score(c *sampling.Candidates, i int) float32 {
	row, h := i/c.L, uint64(i%c.L)
	for j := range c.Lengths[row] {
		h = (h*31+uint64(c.Tokens[row*c.L+j]))*2 + uint64(c.Proposed[row*c.L+j])
	}
	return -float32(h%1009) / 100
}

// The network reads proposals at masked positions and what stands at others, once a step for all rows, and the planner gets its
// scores at free positions.
func TestCandidates(t *testing.T) {
	net, steps := &scorerFunc{f: score}, 0
	loop, out := scoredLoop(t, net, func(r *sampling.Row, d *sampling.Decision) {
		c := &net.read[len(net.read)-1]
		row := slices.Index(c.Lengths, r.Length)
		for j, f := range r.Flags {
			at := row*c.L + r.Offset + j
			want := [3]int32{r.Token[j], 0, 1} // token, proposed, wanted
			switch {
			case f&sampling.Fixed != 0:
				want[2] = 0
			case f&sampling.Masked != 0:
				want = [3]int32{r.Proposal[j], 1, 1}
			}
			if got := [3]int32{c.Tokens[at], int32(c.Proposed[at]), int32(c.Wanted[at])}; got != want {
				t.Errorf("row %d, step %d, position %d: token, proposed, wanted %v, expected %v", r.Index, r.Step, j, got, want)
			}
			if likes := score(c, at) * float32(want[2]); r.PlannerScore[j] != likes {
				t.Errorf("row %d, step %d, position %d: score %v, expected %v", r.Index, r.Step, j, r.PlannerScore[j], likes)
			}
		}
		for j := r.Length; j < c.L; j++ {
			if at := row*c.L + j; c.Tokens[at] != 4 || c.Wanted[at] != 0 {
				t.Errorf("row %d: padding is %d, wanted %d", r.Index, c.Tokens[at], c.Wanted[at])
			}
		}
		steps++
		revise(r, d)
	}, sampling.Needs{PlannerScore: true}, scoredRows())
	if err := masked.New().Sample(t.Context(), loop); err != nil {
		t.Fatal(err)
	}
	a := loop.Accounts()
	if len(out) != 3 || a.ScorePasses != a.Passes || a.ScorePasses != len(net.read) || steps != a.RowPasses {
		t.Errorf("%d rows, %d calls of the network, %d counted, %d of the denoiser, %d plans", len(out), len(net.read), a.ScorePasses, a.Passes, steps)
	}
}

// Who does not ask for scores has no calls of the network.
func TestNoScoresWithoutNeed(t *testing.T) {
	net := &scorerFunc{f: score}
	loop, _ := scoredLoop(t, net, leftmost, sampling.Needs{}, scoredRows())
	if err := masked.New().Sample(t.Context(), loop); err != nil || len(net.read) != 0 || loop.Accounts().ScorePasses != 0 {
		t.Errorf("%d calls, error %v", len(net.read), err)
	}
}

// A row whose scores are no numbers ends with an error that says where; the others are what they are without it.
func TestFaultyScores(t *testing.T) {
	tokens := func(f func(c *sampling.Candidates, i int) float32, rows []sampling.Request) map[int64]sampling.Result {
		loop, out := scoredLoop(t, &scorerFunc{f: f}, revise, sampling.Needs{PlannerScore: true}, rows)
		if err := masked.New().Sample(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
		return out
	}
	sound := tokens(score, scoredRows())
	for _, fault := range []float64{math.NaN(), math.Inf(1)} {
		got := tokens(func(c *sampling.Candidates, i int) float32 {
			if c.Lengths[i/c.L] == 3 && c.Wanted[i] == 1 && c.Proposed[i] == 0 { // from the second step on
				return float32(fault)
			}
			return score(c, i)
		}, scoredRows())
		if r := got[1]; r.Finish != sampling.FinishError || r.Err == nil || !strings.Contains(r.Err.Error(), "row 1, step 1, position ") || !strings.Contains(r.Err.Error(), "check its ONNX file") {
			t.Errorf("row 1 ended %s: %v", r.Finish, r.Err)
		}
		for _, i := range []int64{0, 2} {
			if diff := cmp.Diff(sound[i].Tokens, got[i].Tokens); diff != "" {
				t.Errorf("row %d: %s", i, diff)
			}
		}
	}
	// -Inf is a score: the last to open.
	for i, r := range tokens(func(*sampling.Candidates, int) float32 { return float32(math.Inf(-1)) }, scoredRows()) {
		if r.Err != nil || slices.Contains(r.Tokens, 5) {
			t.Errorf("row %d: %v, %v", i, r.Tokens, r.Err)
		}
	}
}

// A sampler that plans by itself gets scores for the planner when it asks for a plan, once a pass.
func TestScoresForASampler(t *testing.T) {
	net := &scorerFunc{f: score}
	loop, _ := scoredLoop(t, net, revise, sampling.Needs{PlannerScore: true}, scoredRows())
	admitted, err := loop.Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []sampling.Advance
	for _, r := range admitted {
		all = append(all, sampling.Advance{Slot: r.Slot, T: 1})
	}
	for pass := range 3 {
		if _, err := loop.Denoise(t.Context(), all); err != nil || len(net.read) != pass {
			t.Fatalf("pass %d: %d calls before the plan, error %v", pass, len(net.read), err)
		}
		for range 2 {
			if _, err := loop.Plan(t.Context()); err != nil || len(net.read) != pass+1 {
				t.Fatalf("pass %d: %d calls, error %v", pass, len(net.read), err)
			}
		}
	}
	net.f = func(*sampling.Candidates, int) float32 { return float32(math.NaN()) }
	if _, err := loop.Denoise(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := loop.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "the score of the planner's network is NaN") {
		t.Errorf("error %v", err)
	}
	if err := loop.Abort(context.Canceled); err != nil {
		t.Fatal(err)
	}
}
