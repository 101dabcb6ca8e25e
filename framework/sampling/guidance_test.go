package sampling_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// twofold is a denoiser with guidance that keeps what it was given. It proposes token 1 everywhere.
type twofold struct {
	sampling.Denoiser
	batch              sampling.Batch
	tokens, unprompted [][]int64
}

func (d *twofold) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Serves: sampling.Needs{Proposal: true, LogpLeaveOneOut: true}, Padding: true, V: 9, Provider: "cpu"}
}

func (d *twofold) Batch(b, l int) (*sampling.Batch, error) {
	d.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l), Params: make([]sampling.Params, b),
		Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l), Unconditional: make([]int64, b*l)}
	return &d.batch, nil
}

func (d *twofold) Run(context.Context) (*sampling.Statistics, error) {
	d.tokens, d.unprompted = append(d.tokens, d.batch.Tokens), append(d.unprompted, d.batch.Unconditional)
	n := len(d.batch.Tokens)
	return &sampling.Statistics{B: d.batch.B, L: d.batch.L, Proposal: slices.Repeat([]int32{1}, n), LogpLeaveOneOut: slices.Repeat([]float32{-2}, n)}, nil
}

// opens opens the first blank of every row.
type opens struct {
	sampling.Planner
	seen [][]float32
}

func (p *opens) Plan(_ context.Context, step *sampling.Step, out []sampling.Decision) error {
	for i, r := range step.Rows {
		p.seen = append(p.seen, slices.Clone(r.LogpLeaveOneOut))
		out[i].Open = append(out[i].Open, int32(slices.IndexFunc(r.Flags, func(f sampling.Flags) bool { return f&sampling.Eligible != 0 })))
	}
	return nil
}

// The pass without prompts sees what the run has written, special tokens and what is kept, and no other fixed token. A row
// counts both passes, and a bound on them counts both.
func TestGuidanceInTheLoop(t *testing.T) {
	const mask, bos, kept = 8, 0, 4
	for _, most := range []int{0, 5} {
		d, p := &twofold{}, &opens{}
		requests := []sampling.Request{
			{Index: 0, Tokens: []int32{bos, 3, kept, mask, 5, mask, mask}, Params: sampling.Params{TopP: 1}},
			{Index: 1, Tokens: []int32{mask, mask, mask}, Params: sampling.Params{TopP: 1}},
		}
		var results []sampling.Result
		l, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: d, Planner: p, CanRemask: true, PlannerNeeds: sampling.Needs{LogpLeaveOneOut: true}, MaskID: mask, PadID: 7, V: mask, Rows: 2,
			MaxNFE: most, Guidance: sampling.Guidance{On: true, Keep: []int32{bos, kept}},
			Next: func() (r sampling.Request, ok bool) {
				if len(requests) == 0 {
					return r, false
				}
				r, requests = requests[0], requests[1:]
				return r, true
			}, Sink: func(r sampling.Result) error { results = append(results, r); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for done := false; !done; {
			states, err := l.Advance(t.Context(), []sampling.Advance{{Slot: 0}, {Slot: 1}})
			if err != nil {
				t.Fatal(err)
			}
			done = states[0].Done && states[1].Done
		}
		if err := l.Emit(t.Context(), []int{0, 1}); err != nil {
			t.Fatal(err)
		}
		second := []int64{bos, mask, kept, 1, mask, mask, mask, 1, mask, mask, 7, 7, 7, 7}
		if diff := cmp.Diff(second, d.unprompted[1]); diff != "" {
			t.Errorf("the second pass without prompts (-want +got):\n%s", diff)
		}
		if want := []int64{bos, 3, kept, 1, 5, mask, mask, 1, mask, mask, 7, 7, 7, 7}; !slices.Equal(d.tokens[1], want) {
			t.Errorf("the second pass saw %v, want %v", d.tokens[1], want)
		}
		passes, finish := 3, sampling.FinishComplete
		if most == 5 { // two steps of two passes each; there is no room for a third
			passes, finish = 2, sampling.FinishSteps
		}
		for _, r := range results {
			if r.NFE != 2*passes || r.Finish != finish || len(d.tokens) != passes {
				t.Errorf("max_nfe %d: row %d took %d passes in %d runs and ended as %s, want %d in %d", most, r.Index, r.NFE, len(d.tokens), r.Finish, 2*passes, passes)
			}
		}
		if a := l.Accounts(); a.RowPasses != 4*passes || a.Passes != passes {
			t.Errorf("accounts %+v", a)
		}
		if got := p.seen[0]; !slices.Equal(got, []float32{-2, 0, -2, -2}) {
			t.Errorf("leave-one-out in the window is %v; expected 0 at fixed positions", got)
		}
	}
}
