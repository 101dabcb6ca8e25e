package sampling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
)

type run struct {
	denoiser  *goDenoiser
	plan      planFunc
	needs     sampling.Needs
	canRemask bool
	rows      int
	seed      uint64
	requests  []sampling.Request
	observers []sampling.Observer
	frame     func(*sampling.LoopConfig) // nil: as it is
}

// do drives a run with the masked sampler and returns the results by index.
func (r run) do(t testing.TB) (map[int64]sampling.Result, sampling.Accounts, error) {
	t.Helper()
	v := int32(r.denoiser.v - 1) // the mask is the last id
	head := sampling.Head{Needs: r.needs, Suppress: []int32{v}, Present: r.canRemask}
	if err := r.denoiser.Configure(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	out, next := map[int64]sampling.Result{}, 0
	config := sampling.LoopConfig{
		Denoiser: r.denoiser, Planner: r.plan, PlannerName: "func", CanRemask: r.canRemask, PlannerNeeds: r.needs, Seed: r.seed,
		MaskID: v, V: int(v), Rows: max(r.rows, 1), Observers: r.observers,
		Next: func() (sampling.Request, bool) {
			if next == len(r.requests) {
				return sampling.Request{}, false
			}
			next++
			return r.requests[next-1], true
		},
		Sink: func(res sampling.Result) error { out[res.Index] = res; return nil },
	}
	if r.frame != nil {
		r.frame(&config)
	}
	loop, err := sampling.NewLoop(config)
	if err != nil {
		t.Fatal(err)
	}
	err = masked.New().Sample(t.Context(), loop)
	if err != nil {
		if e := loop.Abort(err); e != nil {
			t.Fatal(e)
		}
	}
	return out, loop.Accounts(), err
}

func blanks(n int, j *joint, temperature float32) []sampling.Request {
	out := make([]sampling.Request, n)
	for i := range out {
		out[i] = sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{int32(j.v)}, j.l), Params: sampling.Params{Temperature: temperature, TopP: 1}}
	}
	return out
}

// With an exact denoiser, one token a step in an order that does not look at the drawn values reproduces the joint.
// Total variation of n draws from the truth has mean m = sum_i sqrt(p_i (1-p_i) / (2 pi n)) and, by McDiarmid,
// P(TV > m + e) <= exp(-2 n e^2); e = sqrt(ln(1e7)/(2n)) makes false alarms rarer than 1e-7.
func TestOneTokenPerStepIsExact(t *testing.T) {
	const n = 20000
	for _, size := range []struct{ l, v int }{{4, 3}, {6, 2}} {
		for name, plan := range map[string]planFunc{"random": uniformly, "sequential": leftmost} {
			t.Run(fmt.Sprintf("%s_L%d_V%d", name, size.l, size.v), func(t *testing.T) {
				j := newJoint(size.l, size.v, 77)
				res, acc, err := run{denoiser: &goDenoiser{v: j.v + 1, logits: j.logits}, plan: plan, needs: sampling.Needs{Uniform: true},
					rows: 64, seed: 4242, requests: blanks(n, j, 1)}.do(t)
				if err != nil {
					t.Fatal(err)
				}
				count := make([]float64, len(j.p))
				for _, r := range res {
					count[j.index(r.Tokens)]++
				}
				tv, mean := 0.0, 0.0
				for i, p := range j.p {
					tv += math.Abs(count[i]/n-p) / 2
					mean += math.Sqrt(p * (1 - p) / (2 * math.Pi * n))
				}
				if bound := mean + math.Sqrt(math.Log(1e7)/(2*n)); tv > bound {
					t.Errorf("total variation %.4f, expected %.4f, bound %.4f", tv, mean, bound)
				}
				if acc.RowPasses != n*j.l {
					t.Errorf("%d row passes, want %d", acc.RowPasses, n*j.l)
				}
			})
		}
	}
}

// chaotic decides by noise alone: it opens, remasks and overwrites anything that it may.
func chaotic(r *sampling.Row, d *sampling.Decision) {
	for i, f := range r.Flags {
		u := r.Uniform[i]
		switch {
		case f&sampling.Eligible != 0 && u < 0.4:
			d.Open = append(d.Open, int32(i))
		case f&(sampling.Masked|sampling.Fixed) == 0 && u < 0.1:
			d.Remask = append(d.Remask, int32(i))
		case f&(sampling.Masked|sampling.Fixed) == 0 && u > 0.95:
			d.Overwrite = append(d.Overwrite, sampling.Write{Position: int32(i), Token: 0})
		}
	}
}

// hashLogits is a deterministic denoiser for any length: logits depend on the whole visible row.
func hashLogits(v int) func([]int64, []float32) {
	return func(tokens []int64, out []float32) {
		h := uint64(14695981039346656037)
		for _, t := range tokens {
			h = (h ^ uint64(t)) * 1099511628211
		}
		for i := range out[:len(tokens)*v] {
			h = h*6364136223846793005 + 1442695040888963407
			out[i] = float32(h>>40) / (1 << 22)
		}
	}
}

// Results depend on neither the batch nor the neighbours; fixed positions stay; nothing ends with a mask.
func TestRowsAreIndependent(t *testing.T) {
	const v = 9
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "rows")
		req := make([]sampling.Request, n)
		for i := range req {
			tokens := rapid.SliceOfN(rapid.Int32Range(0, v-1), 1, 9).Draw(rt, "tokens")
			req[i] = sampling.Request{Index: int64(i), Tokens: tokens, Steps: rapid.IntRange(0, 8).Draw(rt, "steps"),
				Params: sampling.Params{Temperature: float32(rapid.SampledFrom([]float64{0, 0.7, 1}).Draw(rt, "T")), TopP: 1}}
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		frame := func(c *sampling.LoopConfig) {}
		if rapid.Bool().Draw(rt, "framed") {
			blocks := sampling.Blocks{Length: rapid.IntRange(0, 10).Draw(rt, "block"), Absolute: rapid.Bool().Draw(rt, "absolute")}
			stop := sampling.Stop{EOS: rapid.SliceOfN(rapid.Int32Range(0, v-2), 0, 2).Draw(rt, "eos"), AtEnd: rapid.Bool().Draw(rt, "at end")}
			most, pad := rapid.IntRange(0, 6).Draw(rt, "max_nfe"), rapid.IntRange(0, 12).Draw(rt, "pad_to")
			frame = func(c *sampling.LoopConfig) { c.Blocks, c.Stop, c.MaxNFE, c.PadTo = blocks, stop, most, pad }
		}
		var first map[int64]sampling.Result
		for _, rows := range []int{1, 3, 7, 64} {
			for _, pad := range []bool{true, false} {
				res, _, err := run{denoiser: &goDenoiser{v: v, logits: hashLogits(v), pad: pad}, plan: chaotic, canRemask: true,
					needs: sampling.Needs{Uniform: true}, rows: rows, seed: seed, requests: req, frame: frame}.do(t)
				if err != nil {
					rt.Fatal(err)
				}
				for i, r := range res {
					r.Elapsed = 0
					for p := range r.Logp {
						r.Logp[p] = 0 // NaN or not, it is no part of this claim
					}
					res[i] = r
					for p, tok := range r.Tokens {
						if given := req[i].Tokens[p]; given != v-1 && tok != given {
							rt.Fatalf("row %d: fixed position %d changed from %d to %d", i, p, given, tok)
						}
						if tok == v-1 {
							rt.Fatalf("row %d ends with a mask at %d (%s)", i, p, r.Finish)
						}
					}
				}
				if len(res) != n {
					rt.Fatalf("%d results for %d rows", len(res), n)
				}
				if first == nil {
					first = res
				} else if d := cmp.Diff(first, res); d != "" {
					rt.Fatalf("batch %d, padding %v changes results:\n%s", rows, pad, d)
				}
			}
		}
	})
}

func TestCapOpensTheRest(t *testing.T) {
	idle := func(*sampling.Row, *sampling.Decision) {}
	j := newJoint(4, 3, 5)
	req := blanks(1, j, 1)
	req[0].Steps = 3
	res, acc, err := run{denoiser: &goDenoiser{v: 4, logits: j.logits, timed: true}, plan: idle, requests: req}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if r := res[0]; r.Finish != sampling.FinishSteps || r.NFE != 3 || r.Steps != 3 || r.Opened != 4 || slices.Contains(r.Tokens, 3) {
		t.Errorf("a planner that opens nothing ended as %+v", r)
	}
	if acc.Passes != 3 {
		t.Errorf("%d passes, want 3", acc.Passes)
	}
}

func TestNothingToOpenRunsNoForward(t *testing.T) {
	d := &goDenoiser{v: 4, logits: hashLogits(4), pad: true}
	res, _, err := run{denoiser: d, plan: leftmost, rows: 2, requests: []sampling.Request{
		{Index: 0, Tokens: []int32{0, 1, 2}}, {Index: 1, Tokens: []int32{0, 3}}, {Index: 2, Tokens: []int32{1}},
	}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if d.passes != 1 {
		t.Errorf("%d forward passes, want 1", d.passes)
	}
	for i, nfe := range []int{0, 1, 0} {
		if r := res[int64(i)]; r.NFE != nfe || r.Finish != sampling.FinishComplete {
			t.Errorf("row %d: NFE %d and finish %s, want %d and complete", i, r.NFE, r.Finish, nfe)
		}
	}
}

// A planner that skips empty steps says which step it acted as; the steps between cost nothing.
func TestActedAs(t *testing.T) {
	late := func(r *sampling.Row, d *sampling.Decision) {
		d.ActedAs = min(r.Step+4, r.Steps-1)
		leftmost(r, d)
	}
	res, acc, err := run{denoiser: &goDenoiser{v: 4, logits: hashLogits(4)}, plan: late,
		requests: []sampling.Request{{Tokens: []int32{3, 3, 0}, Steps: 10}}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if r := res[0]; r.NFE != 2 || r.Steps != 10 || r.Finish != sampling.FinishComplete {
		t.Errorf("got NFE %d, steps %d, finish %s; want 2, 10, complete", r.NFE, r.Steps, r.Finish)
	}
	if acc.Steps != 10 {
		t.Errorf("%d steps in the accounts, want 10", acc.Steps)
	}
}

// A planner may keep a full row going, up to the row's steps: what it masks again opens anew.
func TestGoOn(t *testing.T) {
	for until, want := range map[int]int{0: 1, 1: 2, 4: 5, 99: 6} { // forwards of a row with six steps
		revise := func(r *sampling.Row, d *sampling.Decision) {
			d.GoOn = r.Step < until
			for i, f := range r.Flags {
				switch {
				case f&sampling.Masked != 0:
					d.Open = append(d.Open, int32(i))
				case r.Step == 2 && f == 0:
					d.Remask = append(d.Remask, int32(i))
				}
			}
		}
		d := &goDenoiser{v: 4, logits: hashLogits(4), timed: true}
		res, _, err := run{denoiser: d, plan: revise, canRemask: true, requests: []sampling.Request{{Tokens: []int32{3, 0, 3}, Steps: 6}}}.do(t)
		if err != nil {
			t.Fatal(err)
		}
		revised := 0
		if until > 1 {
			revised = 2
		}
		if r := res[0]; r.NFE != want || r.Revised != revised || r.Finish != sampling.FinishComplete || slices.Contains(r.Tokens, 3) {
			t.Errorf("goes on until step %d: %d forwards, %d revisions, %s, tokens %v; want %d, %d, complete", until, r.NFE, r.Revised, r.Finish, r.Tokens, want, revised)
		}
	}
}

// One row's NaN logits end that row alone.
func TestFaultyRowEndsAlone(t *testing.T) {
	inner := hashLogits(4)
	bad := func(tokens []int64, out []float32) {
		inner(tokens, out)
		if tokens[0] == 2 && tokens[1] != 3 { // after the first step of row 1
			out[2*4+1] = float32(math.NaN())
		}
	}
	res, _, err := run{denoiser: &goDenoiser{v: 4, logits: bad}, plan: leftmost, rows: 2, requests: []sampling.Request{
		{Index: 0, Tokens: []int32{0, 3, 3}}, {Index: 1, Tokens: []int32{2, 3, 3}},
	}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if res[0].Finish != sampling.FinishComplete || res[1].Finish != sampling.FinishError {
		t.Fatalf("finishes %s and %s, want complete and error", res[0].Finish, res[1].Finish)
	}
	if got := res[1].Err.Error(); !strings.Contains(got, "row 1, step 1, position 2: the logits are NaN or infinite") {
		t.Errorf("message %q", got)
	}
}

func TestViolations(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, want string
		plan       planFunc
	}{
		{"range", "opens position 7, but the row's window has positions 0 to 2 (1 to 3 of the row)", func(_ *sampling.Row, d *sampling.Decision) { d.Open = []int32{7} }},
		{"negative", "opens position -1", func(_ *sampling.Row, d *sampling.Decision) { d.Open = []int32{-1} }},
		{"fixed", "opens position 2, which is fixed", func(_ *sampling.Row, d *sampling.Decision) { d.Open = []int32{1} }},
		{"twice", "names position 1 twice", func(_ *sampling.Row, d *sampling.Decision) { d.Open = []int32{0, 0} }},
		{"mask", "writes the mask id 3 at position 1", func(_ *sampling.Row, d *sampling.Decision) { d.Overwrite = []sampling.Write{{Position: 0, Token: 3}} }},
		{"token", "writes token 17 at position 1, but ids run from 0 to 2", func(_ *sampling.Row, d *sampling.Decision) { d.Overwrite = []sampling.Write{{Position: 0, Token: 17}} }},
		{"remask", "remasks position 1, which is masked", func(_ *sampling.Row, d *sampling.Decision) { d.Remask = []int32{0} }},
		{"insert", "inserts or deletes", func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: 0, Count: 1}} }},
		{"time", "asks for next_t NaN", func(_ *sampling.Row, d *sampling.Decision) { d.NextT = nan }},
		{"metric", `reports metric "loss" as NaN`, func(_ *sampling.Row, d *sampling.Decision) { d.Metrics = map[string]float64{"loss": nan} }},
		{"end", "asks to finish the row and to go on", func(_ *sampling.Row, d *sampling.Decision) { d.Done, d.GoOn = true, true }},
		{"acted", "acted as step 99, but the row is at step 0 of 2", func(_ *sampling.Row, d *sampling.Decision) { d.ActedAs = 99 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _, err := run{denoiser: &goDenoiser{v: 4, logits: hashLogits(4)}, plan: c.plan,
				requests: []sampling.Request{{Index: 5, Tokens: []int32{0, 3, 1, 3, 2}}}}.do(t)
			var e *sampling.Error
			if !errors.As(err, &e) || e.Code != sampling.ContractViolation {
				t.Fatalf("error %v, want a contract violation", err)
			}
			if !strings.Contains(err.Error(), "planner func, row 5, step 0: CONTRACT_VIOLATION: "+c.want) {
				t.Errorf("message %q lacks %q", err, c.want)
			}
			if r := res[5]; r.Finish != sampling.FinishError || !slices.Equal(r.Tokens, []int32{0, 3, 1, 3, 2}) {
				t.Errorf("the row was changed: %+v", r)
			}
		})
	}
}

func TestCancelledRowsAreHandedOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &goDenoiser{v: 4, logits: hashLogits(4)}
	d.seen = func(*sampling.Batch) {
		if d.passes == 2 {
			cancel()
		}
	}
	if err := d.Configure(ctx, sampling.Head{Suppress: []int32{3}}); err != nil {
		t.Fatal(err)
	}
	var got []sampling.Result
	more := 3
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: d, Planner: planFunc(leftmost), MaskID: 3, V: 3, Rows: 2,
		Next: func() (sampling.Request, bool) {
			more--
			return sampling.Request{Index: int64(2 - more), Tokens: []int32{3, 3, 3, 3, 3}}, more >= 0
		},
		Sink: func(r sampling.Result) error { got = append(got, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	err = masked.New().Sample(ctx, loop)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if err := loop.Abort(err); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Finish != sampling.FinishCancelled || got[0].Opened != 2 {
		t.Errorf("results %+v, want two cancelled rows with two tokens each", got)
	}
}

func TestTraceReplays(t *testing.T) {
	var buf bytes.Buffer
	tr := sampling.NewTrace(&buf, sampling.TraceHeader{Seed: 3, Model: "hash", Sampler: "masked", Planner: "func"})
	req := []sampling.Request{{Index: 0, Tokens: []int32{8, 8, 2, 8, 8}, Steps: 12, Params: sampling.Params{Temperature: 1, TopP: 1}}}
	res, _, err := run{denoiser: &goDenoiser{v: 9, logits: hashLogits(9)}, plan: chaotic, canRemask: true, needs: sampling.Needs{Uniform: true},
		seed: 3, requests: req, observers: []sampling.Observer{tr}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	var canvas []int32
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	for _, line := range lines[1:] {
		var e sampling.TraceEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Event {
		case "row":
			canvas = e.Tokens
		case "step":
			for _, p := range e.Remasked {
				canvas[p] = 8
			}
			for _, o := range e.Opened {
				canvas[o[0]] = o[1]
			}
		case "end":
			if d := cmp.Diff(canvas, e.Tokens); d != "" {
				t.Errorf("replaying the trace gives another row:\n%s", d)
			}
		}
	}
	if d := cmp.Diff(res[0].Tokens, canvas); d != "" {
		t.Errorf("the trace is not the run:\n%s", d)
	}
}

// Every pass tells the runtime which slot a row lives in and when the slot holds a new row.
func TestSlotsKeyTheRuntimesMemory(t *testing.T) {
	d := &goDenoiser{v: 4, logits: hashLogits(4)}
	var slots [][]int32
	var fresh [][]uint8
	d.seen = func(b *sampling.Batch) {
		slots, fresh = append(slots, slices.Clone(b.Slots)), append(fresh, slices.Clone(b.Fresh))
	}
	_, _, err := run{denoiser: d, plan: leftmost, rows: 2, requests: []sampling.Request{
		{Index: 0, Tokens: []int32{3, 3, 3}}, {Index: 1, Tokens: []int32{0, 3, 0}}, {Index: 2, Tokens: []int32{3, 3, 0}},
	}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int32{{0, 1}, {0, 1}, {0, 1}}, slots); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]uint8{{1, 1}, {0, 1}, {0, 0}}, fresh); diff != "" {
		t.Error(diff)
	}
}

// The host takes the steps ahead by itself, at the times of the linear grid, over skipped steps and beside other rows.
func TestTimesOfTheGrid(t *testing.T) {
	seen := 0
	plan := func(r *sampling.Row, d *sampling.Decision) {
		n := float64(r.Steps)
		want := [4]float64{1 - float64(r.Step)/n, 1 - float64(r.Step+1)/n, 1 - (1 - float64(r.Step)/n), 1 - (1 - float64(r.Step+1)/n)}
		if got := [4]float64{r.T, r.S, r.AlphaT, r.AlphaS}; got != want {
			t.Errorf("row %d, step %d of %d: times %v, want %v", r.Index, r.Step, r.Steps, got, want)
		}
		seen++
		if r.Index == 1 {
			d.ActedAs = min(r.Step+2, r.Steps-1)
		}
		leftmost(r, d)
	}
	_, acc, err := run{denoiser: &goDenoiser{v: 4, logits: hashLogits(4), pad: true}, plan: plan, rows: 2, requests: []sampling.Request{
		{Index: 0, Tokens: []int32{3, 3, 3, 3, 3}}, {Index: 1, Tokens: []int32{3, 3, 3}, Steps: 9}, {Index: 2, Tokens: []int32{3, 3}},
	}}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if seen != 5+3+2 || acc.RowPasses != seen {
		t.Errorf("%d decisions and %d row passes, want 10", seen, acc.RowPasses)
	}
}
