package supervise_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// zeros is a denoiser that proposes token 0 everywhere.
type zeros struct{ batch sampling.Batch }

func (*zeros) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{V: 4, Runtime: "test", Provider: "cpu"}
}
func (*zeros) Configure(context.Context, sampling.Head) error { return nil }
func (z *zeros) Batch(b, l int) (*sampling.Batch, error) {
	n := b * l
	z.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, n), Attention: make([]int64, n), Active: make([]uint8, n),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, n)}
	return &z.batch, nil
}
func (z *zeros) Run(context.Context) (*sampling.Statistics, error) {
	return &sampling.Statistics{B: z.batch.B, L: z.batch.L, Proposal: make([]int32, z.batch.B*z.batch.L)}, nil
}
func (*zeros) Close() error { return nil }

// session is a loop over two rows, one at a time, and what comes out of it.
func session(t *testing.T, planner sampling.Planner, name string) (*sampling.Loop, *[]sampling.Result) {
	t.Helper()
	var out []sampling.Result
	next := int64(0)
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: &zeros{}, Planner: planner, PlannerName: name, SamplerName: name, MaskID: 3, V: 3, Rows: 1,
		Next: func() (sampling.Request, bool) {
			next++
			return sampling.Request{Index: next - 1, Tokens: []int32{2, 3, 2, 3}}, next <= 2 // C[MASK]C[MASK]: the window holds a fixed position
		},
		Sink: func(r sampling.Result) error { out = append(out, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return loop, &out
}

// failed checks that the first row alone came out, as it went in.
func failed(t *testing.T, out []sampling.Result) {
	t.Helper()
	if len(out) != 1 || out[0].Finish != sampling.FinishError || !cmp.Equal(out[0].Tokens, []int32{2, 3, 2, 3}) {
		t.Errorf("results %+v, want row 0 unchanged with finish error", out)
	}
}

func TestAPlannerThatOpensAFixedPosition(t *testing.T) {
	_, planner := started(t, supervise.Spec{Name: "opens-fixed"})
	loop, out := session(t, planner, "opens-fixed")
	err := masked.New().Sample(t.Context(), loop)
	check(t, err, sampling.ContractViolation, "planner opens-fixed, row 0, step 0: CONTRACT_VIOLATION: opens position 2, which is fixed (prompt, special or padding); *")
	if err := loop.Abort(err); err != nil {
		t.Fatal(err)
	}
	failed(t, *out)
}

func TestASamplerThatLeavesItsRows(t *testing.T) {
	s := startedSampler(t, "sampler-leaves", 0)
	loop, out := session(t, calm(), "sampler-leaves")
	if err := s.Sample(t.Context(), loop); err != nil {
		t.Fatal(err)
	}
	err := loop.Done()
	check(t, err, sampling.ContractViolation, "sampler sampler-leaves: CONTRACT_VIOLATION: returned with 1 rows in use, the first of them row 0; *")
	if err := loop.Abort(err); err != nil {
		t.Fatal(err)
	}
	failed(t, *out)
}
