package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

var needs = sampling.Needs{
	Proposal: true, LogpProposal: sampling.OnTempered, P1: true, P2: true, PeaksOn: sampling.OnSampling, Entropy: sampling.OnSampling, LogpCurrent: true, KLPrev: true, PlannerScore: true,
	Uniform: true, Gumbel: true, TopK: 2, VocabDot: [][]float32{{1, 2, 3}}, InsertionRate: true, UnmaskRate: true, FrozenGap: true, LogpLeaveOneOut: true, Logits: true,
}

// step has one row of two positions, V 3, and an empty row.
func step() *sampling.Step {
	return &sampling.Step{Run: "r", Rows: []sampling.Row{
		{
			Index: 1 << 40, Slot: 2, Offset: 3, Length: 9, Blanks: 4, Behind: 3, Step: 5, Steps: 6, T: .75, S: .5, AlphaT: .25, AlphaS: .5,
			Token: []int32{7, 8}, Flags: []sampling.Flags{sampling.Masked, sampling.Fixed}, Proposal: []int32{-1, 2}, LogpProposal: []float32{-1, -2},
			P1: []float32{.5, .75}, P2: []float32{.25, .125}, Entropy: []float32{1, 2}, LogpCurrent: []float32{0, -3}, KLPrev: []float32{4, 5},
			PlannerScore: []float32{6, 7}, LogpLeaveOneOut: []float32{8, 9}, Uniform: []float64{.1, .2}, Gumbel: []float64{.3, .4}, K: 2, TopIDs: []int32{1, 2, 3, 4}, TopLogp: []float32{5, 6, 7, 8},
			VocabDot: []float32{9, 10}, V: 3, Logits: []float32{1, 2, 3, 4, 5, 6},
			InsertionRate: []float32{.5, 0, 2}, UnmaskRate: []float32{3, 0}, FrozenGap: []uint8{0, 1, 0}, GapUniform: []float64{.5, .6, .7}, Room: 11,
		},
		{Index: 9, K: 2, V: 3, InsertionRate: []float32{4}, FrozenGap: []uint8{0}, GapUniform: []float64{.8}, Room: 12},
	}}
}

func encoded(t testing.TB) []byte {
	t.Helper()
	e := wire.Encoder{Needs: needs}
	m, err := e.Encode(step())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decode(raw []byte, change func(*pb.Step)) (*sampling.Step, error) {
	var m pb.Step
	if err := proto.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	change(&m)
	var d wire.Decoder
	return d.Decode(&m)
}

var sameEmpty = cmp.Transformer("empty", func(s []int32) []int32 { return append([]int32{}, s...) })

func TestStep(t *testing.T) {
	got, err := decode(encoded(t), func(*pb.Step) {})
	if err != nil {
		t.Fatal(err)
	}
	want := step()
	last := &got.Rows[1]
	for _, column := range []*[]float32{&last.LogpProposal, &last.P1, &last.P2, &last.Entropy, &last.LogpCurrent, &last.KLPrev, &last.PlannerScore, &last.LogpLeaveOneOut, &last.TopLogp, &last.VocabDot, &last.Logits, &last.UnmaskRate} {
		if len(*column) != 0 {
			t.Errorf("the empty row has a column of %d entries", len(*column))
		}
		*column = nil
	}
	last.Flags, last.Uniform, last.Gumbel = nil, nil, nil
	if diff := cmp.Diff(want, got, sameEmpty); diff != "" {
		t.Error(diff)
	}
}

// A host that does not know the lists length, behind and room is understood all the same.
func TestStepOfAnOlderHost(t *testing.T) {
	got, err := decode(encoded(t), func(m *pb.Step) { m.Length, m.Behind, m.Room = nil, nil, nil })
	if err != nil || got.Rows[0].Length != 0 || got.Rows[0].Behind != 0 || got.Rows[0].Offset != 3 {
		t.Errorf("%v, %+v", err, got)
	}
	if _, err := decode(encoded(t), func(m *pb.Step) { m.Behind = m.Behind[:1] }); err == nil {
		t.Error("a list of another length was accepted")
	}
}

func TestOnlyNeededColumnsTravel(t *testing.T) {
	e := wire.Encoder{Needs: sampling.Needs{P1: true}}
	m, err := e.Encode(step())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.P1) != 8 || len(m.Token) != 8 || len(m.Flags) != 2 || len(m.P2)+len(m.Entropy)+len(m.Proposal)+len(m.Uniform)+len(m.TopIds)+len(m.VocabDot) != 0 || m.Logits != nil {
		t.Errorf("message %v", m)
	}
}

func TestStepsThatBreakTheProtocol(t *testing.T) {
	raw := encoded(t)
	for want, change := range map[string]func(*pb.Step){
		"a row has -1 positions":                   func(m *pb.Step) { m.N[0] = -1 },
		"list slot has 1 entries, expected 2 rows": func(m *pb.Step) { m.Slot = m.Slot[:1] },
		"list alpha_s has 0 entries":               func(m *pb.Step) { m.AlphaS = nil },
		"token has 4 bytes":                        func(m *pb.Step) { m.Token = m.Token[:4] },
		"k -1":                                     func(m *pb.Step) { m.K = -1 },
		"column p1 has 7 bytes, expected 8 for 2 positions":        func(m *pb.Step) { m.P1 = m.P1[:7] },
		"column top_ids has 16 bytes, expected 24 for 2 positions": func(m *pb.Step) { m.K = 3 },
		"column insertion_rate has 12 bytes, expected 16":          func(m *pb.Step) { m.InsertionRate = m.InsertionRate[:12] },
		"column gumbel has 8 bytes, expected 16":                   func(m *pb.Step) { m.Gumbel = m.Gumbel[:8] },
		"logits: 20 bytes, expected 2 positions x 3 tokens":        func(m *pb.Step) { m.Logits.Bytes = m.Logits.Bytes[:20] },
		"logits: 0 tokens": func(m *pb.Step) { m.Logits.V = 0 },
		"logits: they lie in shared memory, and this process has no": func(m *pb.Step) { m.Logits.SharedBytes = 4096 },
	} {
		_, err := decode(raw, change)
		var e *sampling.Error
		if !errors.As(err, &e) || e.Code != sampling.ContractViolation || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestNeeds(t *testing.T) {
	got, err := wire.NeedsFromProto(wire.NeedsToProto(needs))
	if diff := cmp.Diff(needs, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for want, m := range map[string]*pb.Needs{
		"logp_proposal is of on=5": {LogpProposal: pb.On_ON_NOISED + 1},
		"entropy is of on=3":       {Entropy: pb.On_ON_TEMPERED},
		"peaks_on is on=4":         {P1: true, PeaksOn: pb.On_ON_NOISED},
		"topk is -1":               {Topk: -1},
		"vector 0 has 3 bytes":     {VocabDot: [][]byte{{1, 2, 3}}},
	} {
		if _, err := wire.NeedsFromProto(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestDescriptionAndRun(t *testing.T) {
	d := sampling.Description{Kind: sampling.KindPlanner, Name: "n", Version: "v", Summary: "s", Needs: needs, OptionsSchema: "{}", CanRemask: true, CanInsert: true, Adaptive: true}
	gotD, err := wire.DescriptionFromProto(wire.DescriptionToProto(d, true))
	if diff := cmp.Diff(d, gotD); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	r := sampling.Run{ID: "r", Options: []byte("{}"), MaskID: 3, V: 4, Temperature: .5, KeepsWritten: true, Insertion: &sampling.Growth{Gap: sampling.GapEOS, Cap: 7, A: 2}, Exponents: []float32{1, 0.5, 2, 3}, Capabilities: sampling.Capabilities{
		Serves: needs, VocabDots: 1, State: true, MaxRows: 2, FixedRows: 3, MaxLength: 4, FixedLength: 5, Padding: true, V: 6, Runtime: "onnx", Provider: "cpu"}}
	gotR, err := wire.RunFromProto(wire.RunToProto(r))
	if diff := cmp.Diff(r, gotR); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	for _, code := range []sampling.Code{sampling.InvalidConfig, sampling.UnsupportedProtocol, sampling.ContractViolation, sampling.Timeout, sampling.Exhausted, sampling.Crashed, sampling.Internal} {
		in := &sampling.Error{Code: code, Object: "planner x", Problem: "p", Hint: "h", Err: errors.New("cause")}
		got, ok := wire.FromStatus(wire.ToStatus(fmt.Errorf("wrapped: %w", in)), "y")
		if !ok || got.Error() != in.Error() {
			t.Errorf("%v became %v", in, got)
		}
	}
	got, ok := wire.FromStatus(wire.ToStatus(errors.New("plain")), "planner y")
	if !ok || got.Error() != "planner y: INTERNAL: plain" {
		t.Errorf("plain error became %v", got)
	}
	if err := wire.ToStatus(fmt.Errorf("x: %w", context.Canceled)); !wire.Cancelled(err) {
		t.Errorf("cancelled became %v", err)
	}
	got, ok = wire.FromStatus(wire.ToStatus(errors.New(strings.Repeat("x", 1<<20))), "y")
	if !ok || len(got.Problem) > 10<<10 {
		t.Errorf("a long error has %d bytes", len(got.Problem))
	}
	for code, want := range map[codes.Code]sampling.Code{codes.ResourceExhausted: sampling.Exhausted, codes.Unimplemented: sampling.UnsupportedProtocol, codes.Unknown: sampling.Internal} {
		if got, ok := wire.FromStatus(status.Error(code, "text"), "y"); !ok || got.Code != want {
			t.Errorf("%v became %v", code, got)
		}
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled} {
		if got, ok := wire.FromStatus(status.Error(code, "text"), "y"); ok {
			t.Errorf("%v became %v, expected nothing told", code, got)
		}
	}
}

// FuzzStep: a decoder refuses what is no step, or returns rows whose columns have the lengths that they must have.
func FuzzStep(f *testing.F) {
	f.Add(encoded(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := decode(raw, func(*pb.Step) {})
		if err != nil {
			return
		}
		for _, r := range s.Rows {
			if n := len(r.Token); len(r.Flags) != n || r.P1 != nil && len(r.P1) != n || r.TopIDs != nil && len(r.TopIDs) != n*r.K || r.Logits != nil && len(r.Logits) != n*r.V ||
				r.InsertionRate != nil && len(r.InsertionRate) != n+1 {
				t.Fatalf("row of %d positions: %+v", n, r)
			}
		}
	})
}

// FuzzDecision: decisions that are accepted survive the way back.
func FuzzDecision(f *testing.F) {
	raw, err := proto.Marshal(&pb.PlanReply{Decisions: []*pb.Decision{{
		Open: []int32{1, 2}, OverwritePosition: []int32{3}, OverwriteToken: []int32{4}, Remask: []int32{5}, Delete: []int32{6}, InsertGap: []int32{7}, InsertCount: []int32{8},
		Fill: pb.Fill_FILL_DRAW, ActedAs: 9, NextT: .5, Done: true, GoOn: true, Refused: 10, Metrics: map[string]float64{"a": 1},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.PlanReply
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		first := make([]sampling.Decision, len(m.Decisions))
		if wire.DecisionsFromProto(m.Decisions, first) != nil {
			return
		}
		again := make([]sampling.Decision, len(first))
		if err := wire.DecisionsFromProto(wire.DecisionsToProto(first), again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
