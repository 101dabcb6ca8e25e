package planners_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// row has every statistic that a first-party planner can ask for; a third of its free positions is written.
func row(n int, rng *rand.Rand) sampling.Row {
	tokens := make([]int32, n)
	for i := range tokens {
		if rng.IntN(3) > 0 {
			tokens[i] = try.Mask
		}
	}
	r := try.Row(tokens, 1, n)
	r.T, r.S, r.AlphaT, r.AlphaS = 0.5, 0.25, 0.5, 0.75
	r.Uniform, r.Gumbel, r.Proposal = make([]float64, n), make([]float64, n), make([]int32, n)
	for _, s := range []*[]float32{&r.P1, &r.P2, &r.Entropy, &r.LogpProposal, &r.LogpCurrent, &r.KLPrev, &r.LogpLeaveOneOut} {
		*s = make([]float32, n)
		for i := range *s {
			(*s)[i] = rng.Float32()
			r.Uniform[i] = rng.Float64()
		}
	}
	for i := range n {
		r.P2[i] *= r.P1[i]
		r.Gumbel[i] = -math.Log(-math.Log(rng.Float64()))
		r.LogpProposal[i], r.LogpCurrent[i], r.LogpLeaveOneOut[i] = -r.LogpProposal[i], -r.LogpCurrent[i], -r.LogpLeaveOneOut[i]
		r.TopIDs = append(r.TopIDs, int32(rng.IntN(3)))
	}
	r.K = 1
	return r
}

func TestOrders(t *testing.T) {
	r := try.Row([]int32{5, try.Mask, try.Mask, try.Mask, try.Mask, try.Mask}, 0, 5, 0)
	r.Uniform = []float64{0, .4, .1, .3, .1, .9}
	r.P1 = []float32{1, .5, .9, .9, .2, .6}
	r.P2 = []float32{0, .125, .5, .75, .125, .375}
	r.Entropy = []float32{0, .2, .7, .1, .1, .3}
	for name, want := range map[string][]int32{
		"random": {2, 4}, "sequential": {1, 2}, "confidence": {2, 3}, "margin": {1, 2}, "entropy": {3, 4},
	} {
		p := planners.All()[name]()
		try.Start(t, p, `{"k":2}`)
		if diff := cmp.Diff(want, try.Ask(t, p, r).Open); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever the row, the k best by the planner's own score are opened, ties to the lower position.
func TestAgainstSort(t *testing.T) {
	scores := map[string]func(r sampling.Row, i int) float64{
		"random":     func(r sampling.Row, i int) float64 { return r.Uniform[i] },
		"sequential": func(r sampling.Row, i int) float64 { return float64(i) },
		"confidence": func(r sampling.Row, i int) float64 { return -float64(r.P1[i]) },
		"margin":     func(r sampling.Row, i int) float64 { return float64(r.P2[i]) - float64(r.P1[i]) },
		"entropy":    func(r sampling.Row, i int) float64 { return float64(r.Entropy[i]) },
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "n")
		r := row(n, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)))
		for i := range n { // coarse values make ties
			r.P1[i], r.P2[i] = float32(int(r.P1[i]*8))/8, 0
			r.Entropy[i] = float32(int(r.Entropy[i]*8)) / 8
		}
		for name, score := range scores {
			p := planners.All()[name]()
			try.Start(t, p, `{"k":3,"schedule":"k"}`)
			var want []int32
			for i, f := range r.Flags {
				if f&sampling.Eligible != 0 {
					want = append(want, int32(i))
				}
			}
			sort.SliceStable(want, func(a, b int) bool { return score(r, int(want[a])) < score(r, int(want[b])) })
			if r.Step < r.Steps-1 {
				want = want[:min(3, len(want))]
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, try.Ask(t, p, r).Open, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%s (-sorted +ours):\n%s", name, diff)
			}
		}
	})
}

// A step with a zero count acts as the next step that opens something.
func TestEmptyStepsAreSkipped(t *testing.T) {
	p := planners.All()["sequential"]()
	try.Start(t, p, `{"schedule":"dream"}`)
	want := sampling.Decision{Open: []int32{0, 1}, ActedAs: 3}
	if diff := cmp.Diff(want, try.Ask(t, p, try.Row(try.Blank(2), 0, 4)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescriptions(t *testing.T) {
	for name, make := range planners.All() {
		d, err := make().Describe(context.Background())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d.Name != name || d.Kind != sampling.KindPlanner || d.Summary == "" || d.Version == "" {
			t.Errorf("%s describes itself as %+v", name, d)
		}
		adaptive := slices.Contains([]string{"eb", "edit", "factor", "hierarchy", "klass", "threshold", "wino"}, name)
		revises := slices.Contains([]string{"dfm", "edit", "p2", "remdm", "wino"}, name)
		if d.CanRemask != revises || d.Adaptive != adaptive || d.CanInsert {
			t.Errorf("%s: wrong abilities: %+v", name, d)
		}
		if _, err := make().Start(context.Background(), sampling.Run{Options: []byte(`{"no_such_option":1}`)}); err == nil {
			t.Errorf("%s took an option that does not exist", name)
		}
	}
}

// The schedules that a planner offers are those that it takes, and planners with k offer the same ones, whatever their
// defaults are.
func TestSchedules(t *testing.T) {
	offered := map[string][]string{} // by planner with k
	for name, make := range planners.All() {
		d, err := make().Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		if err := json.Unmarshal([]byte(d.OptionsSchema), &schema); err != nil {
			t.Fatal(err)
		}
		schedules := schema.Properties["schedule"].Enum
		if _, ok := schema.Properties["k"]; ok {
			offered[name] = schedules
		}
		for _, schedule := range schedules {
			if _, err := make().Start(t.Context(), sampling.Run{Options: []byte(`{"schedule":"` + schedule + `"}`)}); err != nil {
				t.Errorf("%s, schedule %s: %v", name, schedule, err)
			}
		}
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	for name, schedules := range offered {
		if diff := cmp.Diff(offered["confidence"], schedules, sorted); diff != "" {
			t.Errorf("%s (-confidence +%s):\n%s", name, name, diff)
		}
	}
	if len(offered) < 2 || len(offered["confidence"]) == 0 {
		t.Errorf("expected planners with k and schedule, confidence among them, found %v", offered)
	}
}

// Planning allocates nothing once its memory has grown, whatever the planner.
func TestAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	step := &sampling.Step{}
	for range 8 {
		step.Rows = append(step.Rows, row(256, rng))
	}
	out := make([]sampling.Decision, len(step.Rows))
	for name, make := range planners.All() {
		p := make()
		try.Start(t, p, `{}`)
		plan := func() {
			for i := range out {
				out[i].Reset()
			}
			if err := p.Plan(context.Background(), step, out); err != nil {
				t.Fatal(err)
			}
		}
		plan()
		plan()
		// eb's order is an iterator over a closure, which costs a few small objects a row; revisions are a metric, and edits
		// a list of their own.
		if got, most := testing.AllocsPerRun(20, plan), map[string]float64{"dfm": 8 * 2, "eb": 8 * 8, "edit": 8, "remdm": 8 * 2, "wino": 8 * 2}[name]; got > most {
			t.Errorf("%s: %v allocations for 8 rows of 256, expected at most %v", name, got, most)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	step := &sampling.Step{}
	for range 8 {
		step.Rows = append(step.Rows, row(256, rng))
	}
	out := make([]sampling.Decision, len(step.Rows))
	for name, make := range planners.All() {
		b.Run(name, func(b *testing.B) {
			p := make()
			try.Start(b, p, `{}`)
			b.ReportAllocs()
			for b.Loop() {
				for i := range out {
					out[i].Reset()
				}
				if err := p.Plan(context.Background(), step, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
