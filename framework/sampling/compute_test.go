package sampling_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// golden is one position of testdata/compute.json, written by testdata/compute.py.
type golden struct {
	Logits                    []*float64
	Forbid                    []int32
	Current                   int64
	U, T, P                   float64
	Gumbel                    []float64
	K                         int32
	MinP                      float64 `json:"min_p"`
	P1, P2, Entropy           float64
	Peaks                     map[string][2]float64 // p1 and p2 by other distributions
	EntropySampling           float64               `json:"entropy_sampling"`
	LogpCurrent               *float64              `json:"logp_current"`
	Proposal                  int32
	GumbelProposal            int32   `json:"gumbel_proposal"`
	LogpModel                 float64 `json:"logp_model"`
	LogpTempered              float64 `json:"logp_tempered"`
	Top                       []int32
	TopLogp                   []float64 `json:"top_logp"`
	Dot                       float64
	z                         []float32
	currentSuppressed, absent bool
}

func goldens(t *testing.T) []golden {
	b, err := os.ReadFile("testdata/compute.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		g := &out[i]
		for _, x := range g.Logits {
			if x == nil {
				g.z = append(g.z, float32(math.Inf(-1)))
			} else {
				g.z = append(g.z, float32(*x))
			}
		}
		for _, f := range g.Forbid {
			g.currentSuppressed = g.currentSuppressed || int64(f) == g.Current
		}
		g.absent = math.IsInf(float64(g.z[g.Current]), -1)
	}
	return out
}

func one(g *golden) *sampling.Batch {
	return &sampling.Batch{B: 1, L: 1, Tokens: []int64{g.Current}, Active: []uint8{1}, Uniform: []float64{g.U}, Gumbel: g.Gumbel,
		Params: []sampling.Params{{Temperature: float32(g.T), TopK: g.K, TopP: float32(g.P), MinP: float32(g.MinP)}}}
}

func TestComputeAgainstReference(t *testing.T) {
	close := cmpopts.EquateApprox(1e-6, 1e-7)
	for i, g := range goldens(t) {
		dot := make([]float32, len(g.z))
		for v := range dot {
			dot[v] = float32(v)
		}
		head := sampling.Head{Suppress: g.Forbid, Filter: true, Needs: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true,
			P2: true, Entropy: sampling.OnModel, LogpCurrent: true, TopK: 4, VocabDot: [][]float32{dot}}}
		var st sampling.Statistics
		if err := sampling.Compute(g.z, len(g.z), one(&g), head, &st); err != nil {
			t.Fatal(err)
		}
		current := math.Inf(-1)
		switch {
		case g.currentSuppressed:
			current = 0
		case !g.absent:
			current = *g.LogpCurrent
		}
		got := []float64{float64(st.P1[0]), float64(st.P2[0]), float64(st.Entropy[0]), float64(st.LogpCurrent[0]),
			float64(st.LogpProposal[0]), float64(st.VocabDot[0])}
		want := []float64{g.P1, g.P2, g.Entropy, current, g.LogpModel, g.Dot}
		if d := cmp.Diff(want, got, close); d != "" {
			t.Errorf("case %d: %s", i, d)
		}
		if st.Proposal[0] != g.Proposal {
			t.Errorf("case %d: proposal %d, want %d", i, st.Proposal[0], g.Proposal)
		}
		for j := range 4 {
			id, logp := int32(-1), math.Inf(-1)
			if j < len(g.Top) {
				id, logp = g.Top[j], g.TopLogp[j]
			}
			if st.TopIDs[j] != id || !cmp.Equal(float64(st.TopLogp[j]), logp, close) {
				t.Errorf("case %d: candidate %d is %d (%g), want %d (%g)", i, j, st.TopIDs[j], st.TopLogp[j], id, logp)
			}
		}

		head = sampling.Head{Suppress: g.Forbid, Filter: true, Draw: sampling.DrawGumbel,
			Needs: sampling.Needs{LogpProposal: sampling.OnTempered, Entropy: sampling.OnSampling}}
		if err := sampling.Compute(g.z, len(g.z), one(&g), head, &st); err != nil {
			t.Fatal(err)
		}
		if st.Proposal[0] != g.GumbelProposal {
			t.Errorf("case %d: Gumbel proposal %d, want %d", i, st.Proposal[0], g.GumbelProposal)
		}
		if !cmp.Equal(float64(st.Entropy[0]), g.EntropySampling, close) {
			t.Errorf("case %d: entropy on sampling %g, want %g", i, st.Entropy[0], g.EntropySampling)
		}
		if st.Proposal[0] == g.Proposal && !cmp.Equal(float64(st.LogpProposal[0]), g.LogpTempered, close) {
			t.Errorf("case %d: tempered log-probability %g, want %g", i, st.LogpProposal[0], g.LogpTempered)
		}
		if st.P1 != nil || st.TopLogp != nil || st.VocabDot != nil {
			t.Errorf("case %d: statistics nobody asked for", i)
		}

		for _, on := range []sampling.On{sampling.OnTempered, sampling.OnSampling} {
			for _, draw := range []sampling.Draw{sampling.DrawInverseCDF, sampling.DrawGumbel} {
				head = sampling.Head{Suppress: g.Forbid, Filter: true, Draw: draw, Needs: sampling.Needs{P1: true, P2: true, PeaksOn: on}}
				if err := sampling.Compute(g.z, len(g.z), one(&g), head, &st); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(g.Peaks[on.String()], [2]float64{float64(st.P1[0]), float64(st.P2[0])}, close); d != "" {
					t.Errorf("case %d: p1 and p2 on %s: %s", i, on, d)
				}
			}
		}
	}
}

func TestComputeFaults(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	logits := []float32{
		0, nan, 1,
		0, inf, 1,
		nan, 2, 1, // NaN at the suppressed token is nobody's business
		5, -inf, -inf,
		-inf, -inf, 3,
		nan, nan, nan, // not active
	}
	batch := &sampling.Batch{B: 1, L: 6, Tokens: make([]int64, 6), Active: []uint8{1, 1, 1, 1, 1, 0}, Params: []sampling.Params{{TopP: 1}}}
	head := sampling.Head{Suppress: []int32{0, 99, -1}, Needs: sampling.Needs{P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true}}
	var st sampling.Statistics
	if err := sampling.Compute(logits, 3, batch, head, &st); err != nil {
		t.Fatal(err)
	}
	want := []int32{sampling.FaultNaN, sampling.FaultNaN, 1, sampling.FaultSuppressed, 2}
	if d := cmp.Diff(want, st.Proposal[:5]); d != "" {
		t.Error(d)
	}
	if st.Entropy[4] != 0 || st.P1[4] != 1 || st.P2[4] != 0 || st.LogpCurrent[4] != 0 {
		t.Errorf("a certain position: entropy %g, p1 %g, p2 %g, logp of the mask %g", st.Entropy[4], st.P1[4], st.P2[4], st.LogpCurrent[4])
	}
	if x := st.Entropy[0]; x == x {
		t.Errorf("entropy %g beside a fault, want NaN", x)
	}
	if err := sampling.Compute(logits[1:], 3, batch, head, &st); err == nil {
		t.Error("a wrong number of logits was accepted")
	}
}

// The entropy of a nearly certain position keeps its digits: no cancellation.
func TestComputeEntropyOfNearlyCertain(t *testing.T) {
	batch := &sampling.Batch{B: 1, L: 1, Tokens: []int64{0}, Active: []uint8{1}, Params: []sampling.Params{{TopP: 1}}}
	var st sampling.Statistics
	if err := sampling.Compute([]float32{40, 0}, 2, batch, sampling.Head{Needs: sampling.Needs{Entropy: sampling.OnModel}}, &st); err != nil {
		t.Fatal(err)
	}
	q := math.Exp(-40)
	if want := q + 40*q; math.Abs(float64(st.Entropy[0])/want-1) > 1e-6 {
		t.Errorf("entropy %g, want %g", st.Entropy[0], want)
	}
}

func BenchmarkCompute(b *testing.B) {
	const v, n = 50_000, 4
	batch := &sampling.Batch{B: 1, L: n, Tokens: make([]int64, n), Active: []uint8{1, 1, 1, 1}, Params: []sampling.Params{{TopP: 1}}}
	logits := make([]float32, n*v)
	for i := range logits {
		logits[i] = float32(i*7919%1000) / 100
	}
	head := sampling.Head{Needs: sampling.Needs{P1: true, P2: true, Entropy: sampling.OnModel, LogpProposal: sampling.OnModel}}
	var st sampling.Statistics
	for b.Loop() {
		if err := sampling.Compute(logits, v, batch, head, &st); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/v, "ns/token")
}
