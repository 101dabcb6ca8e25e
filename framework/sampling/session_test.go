package sampling_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// misused runs a sampler's misdeed on a loop with two rows, one of which waits, and returns the error and what came out.
func misused(t *testing.T, drive func(*sampling.Loop) error) ([]sampling.Result, error) {
	t.Helper()
	d := &goDenoiser{v: 4, logits: hashLogits(4)}
	if err := d.Configure(t.Context(), sampling.Head{Suppress: []int32{3}}); err != nil {
		t.Fatal(err)
	}
	var out []sampling.Result
	given := int64(0)
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: d, Planner: planFunc(leftmost), PlannerName: "func", SamplerName: "mine", MaskID: 3, V: 3, Rows: 1,
		Next: func() (sampling.Request, bool) {
			given++
			return sampling.Request{Index: given - 1, Tokens: []int32{3, 3}}, given <= 2
		},
		Sink: func(r sampling.Result) error { out = append(out, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err = drive(loop); err == nil {
		err = loop.Done()
	}
	if err != nil {
		if e := loop.Abort(err); e != nil {
			t.Fatal(e)
		}
	}
	return out, err
}

func TestSamplersThatBreakTheContract(t *testing.T) {
	admit := func(t *testing.T, l *sampling.Loop) {
		if rows, err := l.Admit(t.Context()); err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
	}
	advance := func(a sampling.Advance) func(*testing.T, *sampling.Loop) error {
		return func(t *testing.T, l *sampling.Loop) error {
			admit(t, l)
			if _, err := l.Denoise(t.Context(), []sampling.Advance{a}); err == nil {
				t.Error("Denoise takes what Advance must refuse")
			}
			_, err := l.Advance(t.Context(), []sampling.Advance{a})
			return err
		}
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		drive   func(*testing.T, *sampling.Loop) error
		want    string
		results int
	}{
		"returns with a row in use": {func(t *testing.T, l *sampling.Loop) error { admit(t, l); return nil },
			"returned with 1 rows in use, the first of them row 0; drive the session until Admit returns no row and every row is emitted", 1},
		"returns at once": {func(*testing.T, *sampling.Loop) error { return nil }, "returned while rows wait, the first of them row 0; *", 0},
		"returns before the last row": {func(t *testing.T, l *sampling.Loop) error { admit(t, l); return l.Emit(t.Context(), []int{0}) },
			"returned while rows wait, the first of them row 1; *", 1},
		"emits what is not there": {func(t *testing.T, l *sampling.Loop) error { return l.Emit(t.Context(), []int{77}) },
			"emits slot 77, which is not in use; use a slot from the Admit that returned it until its Emit", 0},
		"advances what is not there": {advance(sampling.Advance{Slot: 5}), "advances slot 5, which is not in use; *", 1},
		"time above 1":               {advance(sampling.Advance{T: 1.5}), "advances slot 0 from time t 1.5 to s 0; expected 1 >= t >= s >= 0", 1},
		"time below 0":               {advance(sampling.Advance{T: 1, S: -.5}), "advances slot 0 from time t 1 to s -0.5; *", 1},
		"time upwards":               {advance(sampling.Advance{T: .25, S: .5}), "advances slot 0 from time t 0.25 to s 0.5; *", 1},
		"time NaN":                   {advance(sampling.Advance{T: nan}), "advances slot 0 from time t NaN to s 0; *", 1},
		"alpha":                      {advance(sampling.Advance{T: 1, AlphaS: 2}), "advances slot 0 with alpha_t 0 and alpha_s 2; expected probabilities from 0 to 1", 1},
		"time ahead": {advance(sampling.Advance{T: 1, S: .5, Ahead: []sampling.Time{{T: .25}, {T: .75}}}),
			"advances slot 0 with time 0.75 and alpha 0 as step 2 ahead, after time 0.25; *", 1},
		"alpha ahead": {advance(sampling.Advance{T: 1, S: .5, Ahead: []sampling.Time{{Alpha: nan}}}), "advances slot 0 with time 0 and alpha NaN as step 1 ahead, *", 1},
		"plans first": {func(t *testing.T, l *sampling.Loop) error { _, err := l.Plan(t.Context()); return err }, "plans without a pass; call Denoise, *", 0},
		"applies after the row is gone": {func(t *testing.T, l *sampling.Loop) error {
			admit(t, l)
			if _, err := l.Denoise(t.Context(), []sampling.Advance{{T: 1}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Emit(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			_, err := l.Apply(t.Context(), make([]sampling.Decision, 1))
			return err
		}, "applies decisions without a pass; *", 1},
		"decides too much": {func(t *testing.T, l *sampling.Loop) error {
			admit(t, l)
			if _, err := l.Denoise(t.Context(), []sampling.Advance{{T: 1}}); err != nil {
				t.Fatal(err)
			}
			_, err := l.Apply(t.Context(), make([]sampling.Decision, 2))
			return err
		}, "applies 2 decisions to 1 rows; give one per row of the last Denoise", 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := misused(t, func(l *sampling.Loop) error { return c.drive(t, l) })
			var e *sampling.Error
			if !errors.As(err, &e) || e.Code != sampling.ContractViolation {
				t.Fatalf("error %v, want a contract violation", err)
			}
			want, open := strings.CutSuffix("sampler mine: CONTRACT_VIOLATION: "+c.want, "*")
			if got := err.Error(); got != want && !(open && strings.HasPrefix(got, want)) {
				t.Errorf("message %q, want %q", got, want)
			}
			if len(out) != c.results {
				t.Fatalf("%d rows came out, want %d", len(out), c.results)
			}
			for _, r := range out {
				if r.Finish != sampling.FinishError && r.Finish != sampling.FinishStop {
					t.Errorf("row %d ended as %s, want error (or stop where the sampler emitted it)", r.Index, r.Finish)
				}
			}
		})
	}
}

func TestASamplerThatIsDone(t *testing.T) {
	out, err := misused(t, func(l *sampling.Loop) error {
		for {
			rows, err := l.Admit(t.Context())
			if err != nil || len(rows) == 0 {
				return err
			}
			for !rows[0].Done {
				if rows, err = l.Advance(t.Context(), []sampling.Advance{{T: 1}}); err != nil {
					return err
				}
			}
			if err := l.Emit(t.Context(), []int{0}); err != nil {
				return err
			}
		}
	})
	if err != nil || len(out) != 2 || out[1].Finish != sampling.FinishComplete {
		t.Fatalf("results %+v, %v", out, err)
	}
}

func TestFaultyLogitsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		logit float32
		want  string
	}{
		"NaN":        {float32(math.NaN()), "row 0, step 0, position 0: the logits are NaN or infinite; check the model: its ONNX file yields NaN or infinity for these tokens"},
		"suppressed": {float32(math.Inf(-1)), "row 0, step 0, position 0: the logits leave no token that may be written; shorten sampling.suppress_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &goDenoiser{v: 4, logits: func(_ []int64, out []float32) {
				for i := range out {
					out[i] = c.logit
				}
			}}
			res, _, err := run{denoiser: d, plan: leftmost, requests: []sampling.Request{{Tokens: []int32{3}}}}.do(t)
			if err != nil {
				t.Fatal(err)
			}
			if res[0].Err == nil || res[0].Err.Error() != c.want {
				t.Errorf("message %v, want %q", res[0].Err, c.want)
			}
		})
	}
}
