package supervise_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// oneByOne denoises, opens the first masked position of every row by its own decision, and steps once by the planner's.
func oneByOne() sampling.Sampler {
	return sdk.NewSampler("masked", func(struct{}, sampling.Run) (sdk.SampleFunc, error) {
		return func(ctx context.Context, s sampling.Session) error {
			rows, err := s.Admit(ctx)
			if err != nil || len(rows) == 0 {
				return err
			}
			var advance []sampling.Advance
			var slots []int
			for _, r := range rows {
				advance = append(advance, sampling.Advance{Slot: r.Slot, T: 1, S: .5, AlphaS: .5})
				slots = append(slots, r.Slot)
			}
			step, err := s.Denoise(ctx, advance)
			if err != nil {
				return err
			}
			own := make([]sampling.Decision, len(step.Rows))
			for i, r := range step.Rows {
				own[i] = sampling.Decision{Open: []int32{int32(len(r.P1))}, NextT: float64(r.P1[0])}
			}
			planned, err := s.Plan(ctx)
			if err != nil {
				return err
			}
			own[0].Remask = planned[0].Open
			if _, err := s.Apply(ctx, own); err != nil {
				return err
			}
			if _, err := s.Advance(ctx, advance); err != nil {
				return err
			}
			return s.Emit(ctx, slots)
		}, nil
	}, sdk.Needs(sdk.P1))
}

// recorder is a session that records what it is asked.
type recorder struct {
	asked  []any
	advErr error
	slow   time.Duration
	during func(context.Context) error // Advance
}

func (r *recorder) Admit(context.Context) ([]sampling.RowState, error) {
	return []sampling.RowState{{Slot: 3, Index: 8, Steps: 5, Blanks: 4, Masked: 4, Length: 6}, {Slot: 1, Index: 9, Done: true}}, nil
}

func (r *recorder) Advance(ctx context.Context, rows []sampling.Advance) ([]sampling.RowState, error) {
	time.Sleep(r.slow)
	if r.during != nil {
		return nil, r.during(ctx)
	}
	r.asked = append(r.asked, append([]sampling.Advance(nil), rows...))
	return nil, r.advErr
}

func (r *recorder) Denoise(_ context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	s := &sampling.Step{}
	for range rows {
		s.Rows = append(s.Rows, sampling.Row{Token: make([]int32, 2), Flags: make([]sampling.Flags, 2), P1: []float32{.5, .25}, P2: []float32{0, 0}})
	}
	return s, nil
}

func (r *recorder) Plan(context.Context) ([]sampling.Decision, error) {
	return []sampling.Decision{{Open: []int32{1}}, {}}, nil
}

func (r *recorder) Apply(_ context.Context, d []sampling.Decision) ([]sampling.RowState, error) {
	r.asked = append(r.asked, d)
	return nil, nil
}

func (r *recorder) Emit(_ context.Context, slots []int) error {
	r.asked = append(r.asked, slots)
	return nil
}

func startedSampler(t *testing.T, name string, call time.Duration) sampling.Sampler {
	t.Helper()
	_, s := startedSamplerProcess(t, name, call)
	return s
}

func startedSamplerProcess(t *testing.T, name string, call time.Duration) (*supervise.Process, sampling.Sampler) {
	t.Helper()
	p, err := launch(t, supervise.Spec{Kind: sampling.KindSampler, Name: name, Deadlines: supervise.Deadlines{Call: call}})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampler()
	if _, err := s.Start(context.Background(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	return p, s
}

func TestSamplerDrivesTheSession(t *testing.T) {
	s := startedSampler(t, "masked", 0)
	for range 2 { // a process serves one session after the other
		r := &recorder{}
		if err := s.Sample(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		want := []any{
			[]sampling.Decision{{Open: []int32{2}, Remask: []int32{1}, NextT: .5}, {Open: []int32{2}, NextT: .5}},
			[]sampling.Advance{{Slot: 3, T: 1, S: .5, AlphaS: .5}, {Slot: 1, T: 1, S: .5, AlphaS: .5}},
			[]int{3, 1},
		}
		if diff := cmp.Diff(want, r.asked); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSessionErrorsComeBackAsTheyWere(t *testing.T) {
	s := startedSampler(t, "masked", 0)
	refused := &sampling.Error{Code: sampling.Crashed, Object: "planner x", Problem: "it is gone", Err: errors.New("cause")}
	if err := s.Sample(context.Background(), &recorder{advErr: refused}); err != error(refused) {
		t.Fatalf("error %v, want the session's own", err)
	}
}

func TestSamplerFaults(t *testing.T) {
	err := startedSampler(t, "sampler-exits", 0).Sample(context.Background(), &recorder{})
	check(t, err, sampling.Crashed, "sampler sampler-exits: CRASHED: the process exited with status 6 during Sample; *")
	err = startedSampler(t, "sampler-hangs", time.Second).Sample(context.Background(), &recorder{})
	check(t, err, sampling.Timeout, "sampler sampler-hangs: TIMEOUT: no answer to Sample within 1s; *")
}

// The host works for a sampler that is gone: its death is the error, not the request that ended with it.
func TestASamplerDiesWhileTheHostWorks(t *testing.T) {
	p, s := startedSamplerProcess(t, "sampler-advances", 0)
	err := s.Sample(context.Background(), &recorder{during: func(ctx context.Context) error {
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return ctx.Err()
	}})
	check(t, err, sampling.Crashed, "sampler sampler-advances: CRASHED: the process was ended by signal killed during Sample; *")
}

func TestASamplerThatGivesUpARequest(t *testing.T) {
	err := startedSampler(t, "sampler-gives-up", 0).Sample(context.Background(), &recorder{during: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	check(t, err, sampling.ContractViolation, "sampler sampler-gives-up: CONTRACT_VIOLATION: it gave up a request before the answer; *")
}

func TestASamplersMessagesAreNamed(t *testing.T) {
	err := startedSampler(t, "sampler-lopsided", 0).Sample(context.Background(), &recorder{})
	check(t, err, sampling.ContractViolation, "sampler sampler-lopsided, row 0 of the step: CONTRACT_VIOLATION: next_t NaN, expected a time from 0 to 1; *")
}

func TestTheHostsTimeIsNotTheSamplers(t *testing.T) {
	s := startedSampler(t, "masked", time.Second)
	if err := s.Sample(context.Background(), &recorder{slow: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

func TestCancelInterruptsSample(t *testing.T) {
	s := startedSampler(t, "sampler-hangs", 0)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := s.Sample(ctx, &recorder{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
