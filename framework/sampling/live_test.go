package sampling_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// tokens of a result, for comparisons.
func tokensOf(res map[int64]sampling.Result) map[int64][]int32 {
	out := map[int64][]int32{}
	for i, r := range res {
		out[i] = r.Tokens
	}
	return out
}

// Rows with noise of other runs are the rows of those runs, whatever stands beside them.
func TestNoiseOfAnotherRun(t *testing.T) {
	j := newJoint(6, 3, 5)
	model := func() *goDenoiser { return &goDenoiser{v: j.v + 1, logits: j.logits} }
	base := run{plan: uniformly, needs: sampling.Needs{Uniform: true}, rows: 3}
	want := map[int64][]int32{}
	for seed := range uint64(2) {
		r := base
		r.denoiser, r.seed, r.requests = model(), 40+seed, blanks(4, j, 1)
		res, _, err := r.do(t)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range res {
			want[int64(4*seed)+i] = x.Tokens
		}
	}
	r := base
	r.denoiser, r.seed, r.requests = model(), 7, blanks(8, j, 1)
	for i := range r.requests {
		r.requests[i].Noise = &sampling.NoiseKey{Seed: 40 + uint64(i/4), Row: int64(i % 4)}
	}
	res, _, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, tokensOf(res)); diff != "" {
		t.Error(diff)
	}
}

// watcher calls a function after each step.
type watcher struct {
	sampling.Observer
	stepped func(sampling.Frame)
}

func (watcher) Admitted(sampling.Frame)    {}
func (w watcher) Stepped(f sampling.Frame) { w.stepped(f) }
func (watcher) Finished(sampling.Result)   {}

// A row whose context ends leaves as cancelled; its neighbours are what they would have been.
func TestOneRowIsCancelled(t *testing.T) {
	j := newJoint(6, 3, 5)
	r := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: uniformly, needs: sampling.Needs{Uniform: true}, rows: 4, seed: 11, requests: blanks(4, j, 1)}
	want, _, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.denoiser = &goDenoiser{v: j.v + 1, logits: j.logits}
	r.requests = blanks(4, j, 1)
	r.requests[2].Context = ctx
	r.observers = []sampling.Observer{watcher{stepped: func(f sampling.Frame) {
		if f.Index == 2 && f.Step == 1 {
			cancel()
		}
	}}}
	got, _, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if got[2].Finish != sampling.FinishCancelled || got[2].NFE != 2 || got[2].Err != nil {
		t.Errorf("row 2: finish %s after %d passes, error %v", got[2].Finish, got[2].NFE, got[2].Err)
	}
	delete(want, 2)
	delete(got, 2)
	if diff := cmp.Diff(tokensOf(want), tokensOf(got)); diff != "" {
		t.Error(diff)
	}
}

// Rows that come to a live run join at its next step, where there is room, and are what they are in a run of their own.
func TestLiveRowsJoin(t *testing.T) {
	j := newJoint(6, 3, 5)
	r := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: uniformly, needs: sampling.Needs{Uniform: true}, rows: 4, seed: 11, requests: blanks(3, j, 1)}
	want, _, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	r.denoiser = &goDenoiser{v: j.v + 1, logits: j.logits}
	come, all := 1, r.requests
	taken := 0
	r.observers = []sampling.Observer{watcher{stepped: func(f sampling.Frame) {
		switch {
		case f.Index == 0 && f.Step == 1:
			come = 2
		case f.Index == 0 && f.Step == 5:
			come = 3
		}
	}}}
	r.frame = func(c *sampling.LoopConfig) {
		c.Live = true
		c.Next = func() (sampling.Request, bool) {
			if taken == come {
				return sampling.Request{}, false
			}
			taken++
			return all[taken-1], true
		}
	}
	got, accounts, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tokensOf(want), tokensOf(got)); diff != "" {
		t.Error(diff)
	}
	// Row 0 takes part in passes 1 to 6, row 1, which joins after its second step, in 3 to 8, row 2, after its last, in 7 to 12.
	if accounts.Passes != 12 {
		t.Errorf("%d passes for three rows of 6 steps, expected 12", accounts.Passes)
	}
}

// A live run without rows waits for the next one, and for no longer than its sampler does.
func TestALiveRunWaits(t *testing.T) {
	j := newJoint(6, 3, 5)
	r := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: uniformly, needs: sampling.Needs{Uniform: true}, rows: 2, seed: 11, requests: blanks(3, j, 1)}
	all, taken, came, waits := r.requests, 0, 0, 0
	r.frame = func(c *sampling.LoopConfig) {
		c.Live = true
		c.Next = func() (sampling.Request, bool) {
			if taken == came {
				return sampling.Request{}, false
			}
			taken++
			return all[taken-1], true
		}
		c.Wait = func(ctx context.Context) error {
			waits++
			came = min(came+1, len(all))
			return ctx.Err()
		}
		c.Account = func(a sampling.Accounts) {
			if a.Passes < 1 || a.RowPasses != a.Passes {
				t.Errorf("%d passes with %d rows in them, expected one each", a.Passes, a.RowPasses)
			}
		}
	}
	got, accounts, err := r.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || waits != 4 || accounts.Passes != 18 { // once for each row, and once in vain
		t.Errorf("%d rows after %d waits and %d passes, expected 3, 4 and 18", len(got), waits, accounts.Passes)
	}
}

// What ends a wait ends the run with its error.
func TestAWaitThatFails(t *testing.T) {
	j := newJoint(6, 3, 5)
	r := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: uniformly, needs: sampling.Needs{Uniform: true}, rows: 2, seed: 11}
	r.frame = func(c *sampling.LoopConfig) {
		c.Live = true
		c.Next = func() (sampling.Request, bool) { return sampling.Request{}, false }
		c.Wait = func(context.Context) error { return context.Canceled }
	}
	if _, _, err := r.do(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
