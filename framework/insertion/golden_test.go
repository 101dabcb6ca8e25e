package insertion_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/insertion"
)

// golden is what testdata/golden.py wrote.
type golden struct {
	Clock struct{ T, A, U, Back, Hazard []float64 }
	State struct {
		U, Dropped, Masked, Clean []float64
		BIn                       []float64 `json:"b_in"`
		BUm                       []float64 `json:"b_um"`
	}
	Contract []struct {
		Tokens, Xt []int32
		States, St []int
		BIn        []float64 `json:"b_in"`
		Counts     []int     `json:"gap_n"`
		Speeds     []float64 `json:"gap_b"`
	}
	Bregman struct{ P, Q, D []float64 }
	Poisson struct {
		Lam, Q []float64
		K      []int
	}
	Grid []struct {
		Kind  string
		Steps int
		A     float64
		UMax  float64 `json:"u_max"`
		T     []float64
	}
	Exact any // of package exact
}

// near tells whether two numbers agree to some digits.
func near(x, y, relative float64) bool {
	return x == y || math.Abs(x-y) <= relative*max(math.Abs(x), math.Abs(y))
}

func TestAgainstReference(t *testing.T) {
	var g golden
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	check := func(what string, i int, got, want, relative float64) {
		if !near(got, want, relative) {
			t.Errorf("%s %d: got %v, the reference says %v", what, i, got, want)
		}
	}
	for i, x := range g.Clock.T {
		a := g.Clock.A[i]
		check("clock", i, insertion.Clock(x, a), g.Clock.U[i], 1e-10)
		check("clock inverse", i, insertion.ClockInverse(g.Clock.U[i], a), g.Clock.Back[i], 1e-10)
		check("hazard", i, insertion.Hazard(x, a), g.Clock.Hazard[i], 1e-9)
	}
	for i, u := range g.State.U {
		d, m, c := insertion.StateLogProbabilities(u, g.State.BIn[i], g.State.BUm[i])
		check("dropped", i, d, g.State.Dropped[i], 1e-12)
		check("masked", i, m, g.State.Masked[i], 1e-9)
		check("clean", i, c, g.State.Clean[i], 1e-9)
	}
	for i, c := range g.Contract {
		got := insertion.Contract(c.Tokens, c.States, c.BIn, 8)
		want := insertion.Contracted{Tokens: c.Xt, From: c.St, Counts: c.Counts, Speeds: c.Speeds}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("contract %d (-reference +ours):\n%s", i, diff)
		}
	}
	for i, p := range g.Bregman.P {
		check("bregman", i, insertion.Bregman(p, g.Bregman.Q[i]), g.Bregman.D[i], 1e-9)
	}
	for i, lambda := range g.Poisson.Lam {
		if got := insertion.PoissonQuantile(g.Poisson.Q[i], lambda, math.MaxInt); got != g.Poisson.K[i] {
			t.Errorf("poisson quantile %v of mean %v: got %d, the reference says %d", g.Poisson.Q[i], lambda, got, g.Poisson.K[i])
		}
	}
	for _, c := range g.Grid {
		grid := insertion.Grid{Kind: c.Kind, A: c.A, UMax: c.UMax}
		for k, x := range c.T {
			at := grid.At(k, c.Steps)
			check("grid "+c.Kind, k, at.Left, 1-x, 1e-9)
			check("clock of grid "+c.Kind, k, at.U, insertion.Clock(x, c.A), 1e-9)
		}
	}
}
