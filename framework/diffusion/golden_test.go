package diffusion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
)

// number is a float64 whose infinities are strings in JSON.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	*n = number(x)
	return err
}

type golden struct {
	Schedules []struct {
		Spec  diffusion.Spec
		Times []struct {
			T, Alpha, U, Prime, Weight number
			LogSNR                     number `json:"log_snr"`
		}
		Rho          [][3]float64
		Inverse      [][2]float64
		Recon, Prior float64
	}
	Grids []struct {
		Kind string
		T    int
		Ts   []float64 `json:"t"`
	}
	Times []struct {
		U            []float64
		SharedOffset []float64 `json:"shared_offset"`
		Stratified   []float64
		Snapped      [][2]json.RawMessage
	}
	MD4 struct {
		LogP             []float64
		Mask             []bool
		N                int
		T, CE            []float64
		Bits, Perplexity float64
		Losses           []struct {
			Spec                 diffusion.Spec
			Continuous, Finite16 []float64
		}
	}
	PAPL []struct {
		Form        diffusion.Form
		Alpha       float64
		Tau         number
		L           int
		LogP, Ratio []float64
		Mask        []bool
		Loss        float64
		Coef, W     []float64
	}
	ExactCounts []struct {
		U            float64
		X0, Rank, XT []int64
		Free         []bool
	} `json:"exact_counts"`
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	if len(g.Schedules) == 0 || len(g.Grids) == 0 || len(g.Times) == 0 || len(g.PAPL) == 0 || len(g.ExactCounts) == 0 {
		t.Fatal("golden.json.gz lacks a part")
	}
	return g
}

// near holds got to 1e-12 relative.
func near(t *testing.T, got, want float64, what string, args ...any) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

func mustNew(t testing.TB, s diffusion.Spec) *diffusion.Schedule {
	t.Helper()
	out, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSchedulesAgainstReference(t *testing.T) {
	for _, g := range readGolden(t).Schedules {
		s := mustNew(t, g.Spec)
		for _, row := range g.Times {
			at := float64(row.T)
			near(t, s.Alpha(at), float64(row.Alpha), "%s: Alpha(%v)", s, at)
			near(t, s.U(at), float64(row.U), "%s: U(%v)", s, at)
			near(t, s.AlphaPrime(at), float64(row.Prime), "%s: AlphaPrime(%v)", s, at)
			near(t, s.Weight(at), float64(row.Weight), "%s: Weight(%v)", s, at)
			// Near 0 the logarithm has the absolute error of its argument's relative one.
			if got, want := s.LogSNR(at), float64(row.LogSNR); got != want && !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
				t.Errorf("%s: LogSNR(%v): %v, want %v", s, at, got, want)
			}
		}
		for _, r := range g.Rho {
			near(t, s.Rho(r[0], r[1]), r[2], "%s: Rho(%v, %v)", s, r[0], r[1])
		}
		for _, r := range g.Inverse {
			near(t, s.Inverse(r[0]), r[1], "%s: Inverse(%v)", s, r[0])
		}
		near(t, s.Reconstruction(7, 50), g.Recon, "%s: Reconstruction", s)
		near(t, s.Prior(7, 50), g.Prior, "%s: Prior", s)
	}
}

func TestGridsAgainstReference(t *testing.T) {
	for _, g := range readGolden(t).Grids {
		got, err := diffusion.NewGrid(g.Kind, g.T)
		if err != nil {
			t.Fatal(err)
		}
		if got.T() != g.T {
			t.Errorf("%s grid: %d steps, want %d", g.Kind, got.T(), g.T)
		}
		for i, x := range g.Ts {
			near(t, got[i], x, "%s grid of %d: t(%d)", g.Kind, g.T, i)
		}
	}
}

func TestTimesAgainstReference(t *testing.T) {
	for _, g := range readGolden(t).Times {
		B := len(g.U)
		for i, u := range g.U {
			near(t, diffusion.IID.At(u, i, B), u, "iid time %d of %d", i, B)
			near(t, diffusion.SharedOffset.At(g.U[0], i, B), g.SharedOffset[i], "shared offset, time %d of %d", i, B)
			near(t, diffusion.Stratified.At(u, i, B), g.Stratified[i], "stratified, time %d of %d", i, B)
		}
		for _, snapped := range g.Snapped {
			var T int
			var want []float64
			if json.Unmarshal(snapped[0], &T) != nil || json.Unmarshal(snapped[1], &want) != nil {
				t.Fatal("golden snapped times cannot be read")
			}
			for i, at := range g.Stratified {
				s, up := diffusion.Snap(at, T)
				near(t, up, want[i], "snap of %v, T %d", at, T)
				if math.Abs(up-s-1/float64(T)) > 1e-15 || s > at || at >= up {
					t.Errorf("snap of %v, T %d: step %v to %v", at, T, s, up)
				}
			}
		}
	}
}

func TestLossesAgainstReference(t *testing.T) {
	g := readGolden(t).MD4
	for _, losses := range g.Losses {
		s := mustNew(t, losses.Spec)
		for b, at := range g.T {
			ce := diffusion.MaskedCE(g.LogP[b*g.N:(b+1)*g.N], g.Mask[b*g.N:(b+1)*g.N])
			near(t, ce, g.CE[b], "masked cross-entropy of row %d", b)
			near(t, s.Weight(at)*ce, losses.Continuous[b], "%s: continuous-time loss of row %d", s, b)
			near(t, s.FiniteWeight(at-1./16, at, 16)*ce, losses.Finite16[b], "%s: loss of row %d, T 16", s, b)
		}
	}
	near(t, diffusion.BitsPerToken(g.CE[0], g.N), g.Bits, "bits per token")
	near(t, diffusion.Perplexity(g.CE[0], g.N), g.Perplexity, "perplexity")
}

func TestPAPLAgainstReference(t *testing.T) {
	for _, g := range readGolden(t).PAPL {
		p := diffusion.PAPL{Form: g.Form, Alpha: g.Alpha, Tau: float64(g.Tau)}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		near(t, p.Loss(g.LogP, g.Mask, g.Ratio, g.L), g.Loss, "%+v: loss", p)
		coef := make([]float64, len(g.LogP))
		p.Coefficients(coef, g.LogP, g.Mask, g.Ratio, g.L)
		w := slices.Repeat([]float64{9}, g.L)
		for i := range coef {
			near(t, coef[i], g.Coef[i], "%+v: coefficient %d", p, i)
			if g.Form == diffusion.OpenDLLM {
				continue
			}
			if b := i / g.L; i%g.L == 0 {
				diffusion.PlannerWeights(w, g.LogP[b*g.L:(b+1)*g.L], g.Mask[b*g.L:(b+1)*g.L], p.Tau)
			}
			near(t, w[i%g.L], g.W[i], "%+v: planner weight %d", p, i)
		}
	}
}

func TestExactCountsAgainstReference(t *testing.T) {
	for _, g := range readGolden(t).ExactCounts {
		free := 0
		for _, f := range g.Free {
			if f {
				free++
			}
		}
		got := make([]int64, len(g.X0))
		diffusion.ExactCountSample(got, g.X0, g.Rank, g.Free, diffusion.MaskCount(g.U, free), 4)
		if diff := cmp.Diff(g.XT, got); diff != "" {
			t.Errorf("u %v, x0 %v, free %v (-reference +ours):\n%s", g.U, g.X0, g.Free, diff)
		}
	}
}
