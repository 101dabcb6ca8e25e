package supervise_test

import (
	"context"
	"hash/crc32"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// everything is the set of all statistics that a row can carry.
var everything = []sdk.Statistic{
	sdk.Proposal, sdk.LogpProposal, sdk.P1, sdk.P2, sdk.Entropy, sdk.LogpCurrent, sdk.KLPrev, sdk.PlannerScore,
	sdk.Uniform, sdk.Gumbel, sdk.TopK(2), sdk.VocabDot([]float32{1, 2}, []float32{3, 4}), sdk.Logits,
}

// mirror is a planner whose decisions hold a checksum of everything that it saw, and exercise every verb.
func mirror() sampling.Planner {
	return sdk.NewPlanner("mirror", func(struct{}) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			d := r.Open(r.Eligible()).Remask(r.Written()).Delete(r.Masked()).ActAs(r.Step).NextT(r.T)
			for name, bytes := range map[string][]byte{
				"token": sampling.Bytes(r.Token), "flags": sampling.Bytes(r.Flags), "proposal": sampling.Bytes(r.Proposal),
				"logp_proposal": sampling.Bytes(r.LogpProposal), "p1": sampling.Bytes(r.P1), "p2": sampling.Bytes(r.P2), "entropy": sampling.Bytes(r.Entropy),
				"logp_current": sampling.Bytes(r.LogpCurrent), "kl_prev": sampling.Bytes(r.KLPrev), "planner_score": sampling.Bytes(r.PlannerScore),
				"uniform": sampling.Bytes(r.Uniform), "gumbel": sampling.Bytes(r.Gumbel), "top_ids": sampling.Bytes(r.TopIDs),
				"top_logp": sampling.Bytes(r.TopLogp), "vocab_dot": sampling.Bytes(r.VocabDot), "logits": sampling.Bytes(r.Logits),
			} {
				d = d.Metric(name, float64(crc32.ChecksumIEEE(bytes)))
			}
			for name, x := range map[string]float64{"index": float64(r.Index), "slot": float64(r.Slot), "offset": float64(r.Offset), "blanks": float64(r.Blanks),
				"step": float64(r.Step), "steps": float64(r.Steps), "t": r.T, "s": r.S, "alpha_t": r.AlphaT, "alpha_s": r.AlphaS, "k": float64(r.K), "v": float64(r.V)} {
				d = d.Metric(name, x)
			}
			if len(r.Token) > 0 {
				d = d.Overwrite(len(r.Token)-1, r.Token[0]).Insert(len(r.Token), r.Step)
			}
			return d.Fill(sampling.Fill(r.Step % 3))
		}
	}, sdk.Needs(everything...))
}

// drawStep draws a step with every column: rows of 0 to 6 positions, V 3, K 2, two vocabulary vectors.
func drawStep(t *rapid.T) *sampling.Step {
	const v, k, c = 3, 2, 2
	float := rapid.OneOf(rapid.Float32(), rapid.Just(float32(math.Inf(1))), rapid.Just(float32(math.NaN())))
	unit := rapid.Float64Range(0, 1)
	natural := rapid.Int32Range(0, math.MaxInt32)
	s := &sampling.Step{Run: rapid.StringMatching(`[a-z]*`).Draw(t, "run")}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		floats := func(name string, n int) []float32 { return rapid.SliceOfN(float, n, n).Draw(t, name) }
		doubles := func(name string) []float64 { return rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, name) }
		ids := func(name string, n int) []int32 { return rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, name) }
		flags := make([]sampling.Flags, n)
		for i := range flags {
			flags[i] = sampling.Flags(rapid.IntRange(0, 7).Draw(t, "flags"))
		}
		tokens := ids("token", n)
		for i := range tokens {
			tokens[i] &= math.MaxInt32
		}
		s.Rows = append(s.Rows, sampling.Row{
			Index: rapid.Int64Range(0, 1<<50).Draw(t, "index"), Slot: int(natural.Draw(t, "slot")), Offset: int(natural.Draw(t, "offset")), Blanks: int(natural.Draw(t, "blanks")),
			Step: int(natural.Draw(t, "step")), Steps: int(natural.Draw(t, "steps")),
			T: unit.Draw(t, "t"), S: unit.Draw(t, "s"), AlphaT: unit.Draw(t, "alpha_t"), AlphaS: unit.Draw(t, "alpha_s"),
			Token: tokens, Flags: flags, Proposal: ids("proposal", n), LogpProposal: floats("logp_proposal", n), P1: floats("p1", n), P2: floats("p2", n),
			Entropy: floats("entropy", n), LogpCurrent: floats("logp_current", n), KLPrev: floats("kl_prev", n), PlannerScore: floats("planner_score", n),
			Uniform: doubles("uniform"), Gumbel: doubles("gumbel"), K: k, TopIDs: ids("top_ids", n*k), TopLogp: floats("top_logp", n*k),
			VocabDot: floats("vocab_dot", n*c), V: v, Logits: floats("logits", n*v),
		})
	}
	return s
}

// TestOverTheWireIsInProcess: a planner in its own process sees and decides what the same planner does in process, with
// logits in the shared memory, outside of it, or in no memory at all.
func TestOverTheWireIsInProcess(t *testing.T) {
	memory, err := shm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	region, err := memory.Floats(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	_, there := started(t, supervise.Spec{Name: "mirror", Memory: memory})
	_, bytes := started(t, supervise.Spec{Name: "mirror", Memory: &shm.Memory{}})
	here := mirror()
	if _, err := here.Start(context.Background(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		step := drawStep(t)
		want, err := plan(here, step)
		if err != nil {
			t.Fatal(err)
		}
		placed := *step
		placed.Rows = append([]sampling.Row(nil), step.Rows...)
		if rapid.Bool().Draw(t, "logits in shared memory") {
			used := 0
			for i := range placed.Rows {
				r := &placed.Rows[i]
				used += copy(region[used:], r.Logits)
				r.Logits = region[used-len(r.Logits) : used : used]
			}
		}
		for name, c := range map[string]struct {
			planner sampling.Planner
			step    *sampling.Step
		}{"shared": {there, &placed}, "bytes": {bytes, step}} {
			got, err := plan(c.planner, c.step)
			if err != nil {
				t.Fatal(name, err)
			}
			if diff := cmp.Diff(want, got, cmp.Transformer("length", func(s []int32) []int32 { return append([]int32{}, s...) })); diff != "" {
				t.Fatal(name, diff)
			}
		}
	})
}

// TestStepsThatCannotBeSent: a column that the planner needs and the step lacks is the host's mistake.
func TestStepsThatCannotBeSent(t *testing.T) {
	_, planner := started(t, supervise.Spec{Name: "calm"})
	s := step()
	s.Rows[1].Entropy = nil
	_, err := plan(planner, s)
	check(t, err, sampling.Internal, "host: INTERNAL: the step for planner calm cannot be sent: message: CONTRACT_VIOLATION: row 5: column entropy has 0 entries, expected 2")
}
