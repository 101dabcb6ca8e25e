package masked

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func started(t testing.TB, options string) *sampler {
	m := New().(*sampler)
	if _, err := m.Start(t.Context(), sampling.Run{Options: []byte(options)}); err != nil {
		t.Fatal(err)
	}
	return m
}

// Times of four steps: numpy's linspace, and the cosine written out.
func TestGrids(t *testing.T) {
	half := math.Sqrt(0.5)
	for options, want := range map[string][]float64{
		`{}`:                          {1, 0.75, 0.5, 0.25, 0},
		`{"grid":"linear"}`:           {1, 0.75, 0.5, 0.25, 0},
		`{"grid":"cosine"}`:           {1, math.Sqrt(2+math.Sqrt2) / 2, half, math.Sqrt(2-math.Sqrt2) / 2, 0},
		`{"grid":"dream"}`:            {1, 0.75025, 0.5005, 0.25075, 0.001},
		`{"grid":"dream","eps":0.2}`:  {1, 0.8, 0.6, 0.4, 0.2},
		`{"grid":"mdlm"}`:             {1, 0.66667, 0.33334, 1e-5, 0},
		`{"grid":"mdlm","eps":0.001}`: {1, 0.667, 0.334, 0.001, 0},
	} {
		m := started(t, options)
		a := m.grid.advance(sampling.RowState{Steps: 4})
		got := []float64{a.T, a.S}
		for _, x := range a.Ahead {
			got = append(got, x.T)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", options, diff)
		}
	}
}

// Whatever the options: times fall from 1 to at least 0, a row's look-ahead agrees with its later steps, and alpha = 1 - t.
func TestTimesFall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Grid: rapid.SampledFrom([]string{"linear", "cosine", "mdlm", "dream"}).Draw(rt, "grid"), Eps: rapid.Float64Range(0, 1).Draw(rt, "eps")}
		g, n := gridOf(o), rapid.IntRange(1, 200).Draw(rt, "steps")
		first := g.advance(sampling.RowState{Steps: n})
		if first.T != 1 || len(first.Ahead) != n-1 {
			rt.Fatalf("the first step begins at %v and looks %d steps ahead", first.T, len(first.Ahead))
		}
		before := 1.0
		for i := range n {
			a := g.advance(sampling.RowState{Step: i, Steps: n})
			if a.T != before || !(a.S <= a.T && a.S >= 0) || a.AlphaT != 1-a.T || a.AlphaS != 1-a.S {
				rt.Fatalf("step %d of %d: %+v after time %v", i, n, a, before)
			}
			if i > 0 && first.Ahead[i-1] != (sampling.Time{T: a.S, Alpha: a.AlphaS}) {
				rt.Fatalf("step %d of %d: looked ahead to %v, found %v", i, n, first.Ahead[i-1], a.S)
			}
			before = a.S
		}
		if o.Grid != "dream" && before != 0 {
			rt.Fatalf("the last step ends at %v", before)
		}
	})
}

func TestAPlannersTimeHoldsForOneStep(t *testing.T) {
	a := grid(linear).advance(sampling.RowState{Step: 1, Steps: 4, NextT: 0.9})
	if math.Abs(a.T-0.9) > 1e-15 || math.Abs(a.S-0.65) > 1e-15 || a.Ahead != nil {
		t.Errorf("got %+v, want one step from 0.9 to 0.65", a)
	}
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"grid":"sine"}`, `{"eps":-1}`, `{"steps":3}`} {
		if _, err := New().Start(t.Context(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}
