package sampling_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// trying gives a loop with two rows of four positions, the last of which is given, admitted and passed through the model.
func trying(t *testing.T, d *goDenoiser, needs sampling.Needs, maxRows int) (*sampling.Loop, *sampling.Step, *[]sampling.Result) {
	t.Helper()
	if err := d.Configure(t.Context(), sampling.Head{Needs: needs, Suppress: []int32{2, 4}}); err != nil {
		t.Fatal(err)
	}
	var out []sampling.Result
	given := int64(0)
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: capped{d, maxRows}, Planner: planFunc(leftmost), PlannerName: "func", PlannerNeeds: needs,
		SamplerName: "mine", SamplerNeeds: needs, MaskID: 4, V: 4, Suppress: []int32{2}, Rows: 2,
		Next: func() (sampling.Request, bool) {
			given++
			return sampling.Request{Index: given - 1, Tokens: []int32{4, 4, 4, 1}}, given <= 2
		},
		Sink: func(r sampling.Result) error { out = append(out, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := loop.Admit(t.Context()); err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	step, err := loop.Denoise(t.Context(), []sampling.Advance{{Slot: 0, T: 1}, {Slot: 1, T: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return loop, step, &out
}

// capped is a denoiser that takes few rows.
type capped struct {
	*goDenoiser
	rows int
}

func (c capped) Capabilities() sampling.Capabilities {
	caps := c.goDenoiser.Capabilities()
	caps.MaxRows = c.rows
	return caps
}

var tryNeeds = sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, Entropy: sampling.OnModel, Uniform: true, TopK: 2}

func try(at, token int32) sampling.Write { return sampling.Write{Position: at, Token: token} }

// A trial sees what a row with its tokens would: the same statistics in one pass or in many; the canvas stays.
func TestTrialsAreRowsOfTheirOwn(t *testing.T) {
	asked := []sampling.Advance{
		{Slot: 1, T: .5, Trial: []sampling.Write{try(0, 3)}},
		{Slot: 0, T: .5, Trial: []sampling.Write{try(2, 1), try(0, 0)}},
		{Slot: 1, T: .5, Trial: []sampling.Write{try(0, 3), try(1, 3), try(2, 3)}},
		{Slot: 0, T: 1},
		{Slot: 1, T: .5, Trial: []sampling.Write{try(1, 0)}},
	}
	canvases := [][]int32{{3, 4, 4, 1}, {0, 4, 1, 1}, {3, 3, 3, 1}, {4, 4, 4, 1}, {4, 0, 4, 1}}
	for _, most := range []int{0, 2, 5} {
		var widths []int
		d := &goDenoiser{v: 5, logits: hashLogits(5), seen: func(b *sampling.Batch) {
			for i, slot := range b.Slots { // statistics with memory: the rows' own is not touched
				if trial := len(widths) > 0; b.Fresh[i] != 1 || (slot >= 2) != trial || slices.Contains(b.Slots[:i], slot) {
					t.Errorf("pass %d: slots %v, fresh %v", len(widths), b.Slots, b.Fresh)
				}
			}
			widths = append(widths, b.B)
		}}
		loop, before, out := trying(t, d, tryNeeds, most)
		base := copied(before)
		for range 2 { // the second looks the same
			step, err := loop.Denoise(t.Context(), asked)
			if err != nil {
				t.Fatal(err)
			}
			if len(step.Rows) != len(asked) {
				t.Fatalf("at most %d rows a pass: %d rows came back, expected %d", most, len(step.Rows), len(asked))
			}
			for i := range step.Rows {
				r := &step.Rows[i]
				if r.Slot != asked[i].Slot || r.T != asked[i].T || r.Step != 0 || r.Blanks != 3 || !slices.Equal(r.Token, canvases[i][:3]) {
					t.Errorf("row %d of the step: slot %d, time %v, step %d, %d blanks, tokens %v", i, r.Slot, r.T, r.Step, r.Blanks, r.Token)
				}
				want := alone(t, canvases[i])
				for p, f := range r.Flags {
					masked := canvases[i][p] == 4
					if masked != (f == sampling.Masked|sampling.Eligible) || masked && (r.Entropy[p] != want.Entropy[p] || r.Proposal[p] != want.Proposal[p] || r.TopIDs[2*p+1] != want.TopIDs[2*p+1]) ||
						!masked && (r.Proposal[p] != -1 || r.Entropy[p] != 0) {
						t.Errorf("row %d of the step, position %d: flags %v, entropy %v, proposal %v; expected %v and %v", i, p, f, r.Entropy[p], r.Proposal[p], want.Entropy[p], want.Proposal[p])
					}
				}
				if i == 3 && !slices.Equal(r.Uniform, base.Rows[0].Uniform) {
					t.Error("a trial has other noise than its row")
				}
			}
		}
		if diff := cmp.Diff(base, copied(before)); diff != "" {
			t.Errorf("the step before the trials changed (-before +after):\n%s", diff)
		}
		want := map[int][]int{0: {2, 5, 5}, 2: {2, 2, 2, 1, 2, 2, 1}, 5: {2, 5, 5}}[most]
		if diff := cmp.Diff(want, widths); diff != "" {
			t.Errorf("at most %d rows a pass: rows of the passes (-want +got):\n%s", most, diff)
		}
		// What follows belongs to the Denoise before: the planner's decisions, whose statistics are still there.
		decisions, err := loop.Plan(t.Context())
		if err != nil || len(decisions) != 2 {
			t.Fatal(decisions, err)
		}
		decisions = []sampling.Decision{{Open: []int32{1}}, {Overwrite: []sampling.Write{try(0, 3)}}}
		states, err := loop.Apply(t.Context(), decisions)
		if err != nil || states[0].Masked != 2 || states[1].Masked != 2 {
			t.Fatal(states, err)
		}
		if err := loop.Emit(t.Context(), []int{0, 1}); err != nil {
			t.Fatal(err)
		}
		first, second := (*out)[0], (*out)[1]
		if first.Tokens[1] != base.Rows[0].Proposal[1] || first.Logp[1] != base.Rows[0].LogpProposal[1] || second.Tokens[0] != 3 {
			t.Errorf("rows %v (log-probabilities %v) and %v after the step; the proposals were %v", first.Tokens, first.Logp, second.Tokens, base.Rows[0].Proposal)
		}
		if first.NFE != 5 || second.NFE != 7 || loop.Accounts().RowPasses != 12 {
			t.Errorf("%d and %d forward passes of the rows, %d in all; expected 5, 7 and 12", first.NFE, second.NFE, loop.Accounts().RowPasses)
		}
	}
}

// copied takes the columns of a step out of the host's memory.
func copied(step *sampling.Step) sampling.Step {
	out := sampling.Step{Run: step.Run}
	for _, r := range step.Rows {
		r.Token, r.Flags, r.Proposal, r.TopIDs = slices.Clone(r.Token), slices.Clone(r.Flags), slices.Clone(r.Proposal), slices.Clone(r.TopIDs)
		r.LogpProposal, r.Entropy, r.Uniform, r.TopLogp = slices.Clone(r.LogpProposal), slices.Clone(r.Entropy), slices.Clone(r.Uniform), slices.Clone(r.TopLogp)
		out.Rows = append(out.Rows, r)
	}
	return out
}

// alone returns the statistics of one row.
func alone(t *testing.T, tokens []int32) *sampling.Statistics {
	t.Helper()
	d := &goDenoiser{v: 5, logits: hashLogits(5)}
	if err := d.Configure(t.Context(), sampling.Head{Needs: tryNeeds, Suppress: []int32{2, 4}}); err != nil {
		t.Fatal(err)
	}
	b, err := d.Batch(1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range tokens {
		b.Tokens[i], b.Attention[i], b.Active[i] = int64(x), 1, 1
	}
	s, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTrialsThatBreakTheContract(t *testing.T) {
	for name, c := range map[string]struct {
		asked sampling.Advance
		want  string
	}{
		"slot":       {sampling.Advance{Slot: 7, T: 1, Trial: []sampling.Write{try(0, 0)}}, "tries tokens in slot 7, which is not in use; use a slot from *"},
		"position":   {sampling.Advance{T: 1, Trial: []sampling.Write{try(4, 0)}}, "row 0, step 0: tries a token at position 4, but the row has positions 0 to 3; the row was left as it was"},
		"below":      {sampling.Advance{T: 1, Trial: []sampling.Write{try(-1, 0)}}, "row 0, step 0: tries a token at position -1, *"},
		"fixed":      {sampling.Advance{T: 1, Trial: []sampling.Write{try(3, 0)}}, "row 0, step 0: tries a token at position 3, which is fixed *"},
		"twice":      {sampling.Advance{T: 1, Trial: []sampling.Write{try(1, 0), try(1, 3)}}, "row 0, step 0: tries two tokens at position 1 at once; *"},
		"mask":       {sampling.Advance{T: 1, Trial: []sampling.Write{try(1, 4)}}, "row 0, step 0: tries token 4 at position 1, but ids run from 0 to 3; *"},
		"suppressed": {sampling.Advance{T: 1, Trial: []sampling.Write{try(1, 2)}}, "row 0, step 0: tries token 2 at position 1, which is the mask or suppressed; *"},
		"time":       {sampling.Advance{T: 2, Trial: []sampling.Write{try(1, 0)}}, "advances slot 0 from time t 2 to s 0; *"},
	} {
		t.Run(name, func(t *testing.T) {
			loop, _, _ := trying(t, &goDenoiser{v: 5, logits: hashLogits(5)}, tryNeeds, 0)
			_, err := loop.Denoise(t.Context(), []sampling.Advance{c.asked})
			violation(t, err, c.want)
			if states, err := loop.Apply(t.Context(), make([]sampling.Decision, 2)); err != nil || states[0].Masked != 3 {
				t.Errorf("after a refused trial: %v, %v", states, err)
			}
		})
	}
	loop, _, _ := trying(t, &goDenoiser{v: 5, logits: hashLogits(5)}, tryNeeds, 0)
	_, err := loop.Advance(t.Context(), []sampling.Advance{{T: 1, Trial: []sampling.Write{try(0, 0)}}})
	violation(t, err, "advances with a trial, which changes nothing; try tokens with Denoise")
}

// violation checks a contract violation of the sampler mine; a * at the end of want stands for anything.
func violation(t *testing.T, err error, want string) {
	t.Helper()
	var e *sampling.Error
	if !errors.As(err, &e) || e.Code != sampling.ContractViolation {
		t.Fatalf("error %v, want a contract violation", err)
	}
	want, open := strings.CutSuffix("sampler mine: CONTRACT_VIOLATION: "+want, "*")
	if got := err.Error(); got != want && !(open && strings.HasPrefix(got, want)) {
		t.Errorf("message %q, want %q", got, want)
	}
}

// A trial that the model answers with NaN is left out, and its row ends with the step; the other goes on.
func TestAFaultyTrialEndsItsRow(t *testing.T) {
	logits := hashLogits(5)
	d := &goDenoiser{v: 5, logits: func(tokens []int64, out []float32) {
		logits(tokens, out)
		if tokens[0] == 3 {
			out[5] = float32(math.NaN())
		}
	}}
	loop, _, out := trying(t, d, tryNeeds, 0)
	step, err := loop.Denoise(t.Context(), []sampling.Advance{{Slot: 0, T: 1, Trial: []sampling.Write{try(0, 3)}}, {Slot: 0, T: 1, Trial: []sampling.Write{try(0, 1)}},
		{Slot: 1, T: 1, Trial: []sampling.Write{try(1, 1)}}})
	if err != nil || len(step.Rows) != 2 || step.Rows[0].Token[0] != 1 || step.Rows[1].Slot != 1 {
		t.Fatalf("step %+v, %v", step, err)
	}
	states, err := loop.Apply(t.Context(), []sampling.Decision{{Open: []int32{0}}, {Open: []int32{0}}})
	if err != nil || !states[0].Done || states[1].Done {
		t.Fatal(states, err)
	}
	if err := loop.Emit(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	if r := (*out)[0]; r.Finish != sampling.FinishError || r.Err == nil || !strings.HasPrefix(r.Err.Error(), "row 0, step 0, position 1: the logits are NaN or infinite; check the model") {
		t.Errorf("the row ended as %s: %v", r.Finish, r.Err)
	}
}
