package sdk_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

type calmOptions struct {
	K int `option:"k" default:"2" min:"1" help:"positions opened in a step"`
}

func calm() sampling.Planner {
	return sdk.NewPlanner("calm", func(o calmOptions) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			return r.Open(r.Eligible().SmallestBy(r.Entropy, o.K))
		}
	}, sdk.Needs(sdk.Entropy), sdk.Version("1.2.3"), sdk.Pure())
}

const eligible = sampling.Masked | sampling.Eligible

func row(flags []sampling.Flags, entropy []float32) sampling.Row {
	return sampling.Row{Index: 7, Token: make([]int32, len(flags)), Flags: flags, Entropy: entropy}
}

func plan(t *testing.T, p sampling.Planner, options string, rows ...sampling.Row) ([]sampling.Decision, error) {
	t.Helper()
	if _, err := p.Start(context.Background(), sampling.Run{Options: []byte(options)}); err != nil {
		t.Fatal(err)
	}
	out := make([]sampling.Decision, len(rows))
	return out, p.Plan(context.Background(), &sampling.Step{Rows: rows}, out)
}

func TestPlannerOpensTheCalmest(t *testing.T) {
	p := calm()
	d, err := p.Describe(context.Background())
	if err != nil || d.Name != "calm" || d.Version != "1.2.3" || d.Kind != sampling.KindPlanner || d.Needs.Entropy != sampling.OnModel {
		t.Fatalf("Describe() = %+v, %v", d, err)
	}
	flags := []sampling.Flags{eligible, sampling.Fixed, eligible, sampling.Masked, eligible, 0}
	out, err := plan(t, p, `{}`, row(flags, []float32{.5, 0, .1, 0, .1, 0}), row(flags, []float32{.5, 0, .6, 0, .7, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int32{{2, 4}, {0, 2}}, [][]int32{out[0].Open, out[1].Open}); diff != "" {
		t.Error(diff)
	}
}

func TestScoresThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		entropy []float32
		want    string
	}{
		"NaN":          {[]float32{0, float32(math.NaN())}, "planner calm, row 7, step 0: CONTRACT_VIOLATION: the score of position 1 is NaN"},
		"not declared": {nil, "declare the statistic in sdk.Needs"},
	} {
		_, err := plan(t, calm(), ``, row([]sampling.Flags{eligible, eligible}, c.entropy))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestStartListsAllProblems(t *testing.T) {
	_, err := calm().Start(context.Background(), sampling.Run{Options: []byte(`{"k": 0, "kk": 1, "gamma": 2}`)})
	want := "planner calm: INVALID_CONFIG: option k: expected a whole number of at least 1, found 0; " +
		"option gamma: unknown; the options are k; option kk: unknown; did you mean k?; `mdmhost plugin info calm` lists the options"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
}

func TestVerbsAddUp(t *testing.T) {
	p := sdk.NewPlanner("busy", func(struct{}) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			return r.Open(r.At(2)).Open(r.Eligible().First(1)).Remask(r.Written()).Overwrite(3, 9).Insert(1, 2).
				Delete(r.At(4)).Fill(sampling.FillDraw).ActAs(5).NextT(.25).Done().Metric("a", 1).Metric("b", 2)
		}
	})
	out, err := plan(t, p, ``, row([]sampling.Flags{eligible, sampling.Fixed, eligible, 0, 0}, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := sampling.Decision{Open: []int32{2, 0}, Overwrite: []sampling.Write{{Position: 3, Token: 9}}, Remask: []int32{3, 4},
		Delete: []int32{4}, Insert: []sampling.Insertion{{Gap: 1, Count: 2}}, Fill: sampling.FillDraw, ActedAs: 5, NextT: .25, Done: true,
		Metrics: map[string]float64{"a": 1, "b": 2}}
	if diff := cmp.Diff(want, out[0]); diff != "" {
		t.Error(diff)
	}
}

func TestNeedsForStaysWithinNeeds(t *testing.T) {
	type options struct {
		Proxy string `option:"proxy" default:"entropy" enum:"entropy,margin,confidence"`
	}
	build := func(options) sdk.PlanRow { return func(r sdk.Row) sdk.Decision { return r.Nothing() } }
	needs := sdk.NeedsFor(func(o options) sampling.Needs {
		if o.Proxy == "margin" {
			return sampling.Needs{P1: true, P2: true}
		}
		if o.Proxy == "confidence" {
			return sampling.Needs{P1: true, PeaksOn: sampling.OnTempered}
		}
		return sampling.Needs{Entropy: sampling.OnSampling}
	})
	p := sdk.NewPlanner("choosy", build, needs, sdk.Needs(sdk.Entropy, sdk.P1))
	if n, err := p.Start(context.Background(), sampling.Run{}); err != nil || n.String() != "entropy(on=sampling)" {
		t.Errorf("needs %v, %v", n, err)
	}
	if n, err := p.Start(context.Background(), sampling.Run{Options: []byte(`{"proxy":"confidence"}`)}); err != nil || n.String() != "p1(on=tempered)" {
		t.Errorf("needs %v, %v", n, err)
	}
	_, err := p.Start(context.Background(), sampling.Run{Options: []byte(`{"proxy":"margin"}`)})
	if err == nil || !strings.Contains(err.Error(), "asks for p2, which sdk.Needs does not declare") {
		t.Errorf("error %v", err)
	}
}

// TestRowMemoryWithinAStep: what a row leaves in its first step is there when it asks again in the same call, also after other rows
// have taken slots, and gone when the row begins anew.
func TestRowMemoryWithinAStep(t *testing.T) {
	var m sdk.RowMemory[int]
	var got []int
	var first *int
	p := sdk.NewPlannerFunc("remembers", func(r sdk.Row) sdk.Decision {
		got = append(got, *m.Of(r))
		*m.Of(r) += 7
		got = append(got, *m.Of(r))
		if r.Slot == 0 {
			first = m.Of(r)
		} else {
			*first++ // slots that came later leave it where it was
		}
		return r.Nothing()
	})
	rows := []sampling.Row{{Index: 1, Slot: 0}, {Index: 2, Slot: 9}}
	for _, number := range []int{0, 1, 0} { // the last begins anew
		rows[0].Step, rows[1].Step = number, number
		if _, err := plan(t, p, ``, rows...); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{0, 7, 0, 7, 8, 15, 7, 14, 0, 7, 0, 7}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRowMemoryForgetsRowsThatEnded(t *testing.T) {
	var counts []int
	p := sdk.NewPlanner("counting", func(struct{}) sdk.PlanRow {
		var seen sdk.RowMemory[int]
		return func(r sdk.Row) sdk.Decision {
			n := seen.Of(r)
			*n++
			counts = append(counts, *n)
			return r.Nothing()
		}
	})
	rows := []sampling.Row{{Index: 1, Slot: 1}, {Index: 1, Slot: 1, Step: 1}, {Index: 2, Slot: 1}, {Index: 2, Slot: 1, Step: 1}, {Index: 0, Slot: 0}}
	if _, err := plan(t, p, ``, rows...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 1, 2, 1}, counts); diff != "" {
		t.Error(diff)
	}
}

// TestRankingIsSorting compares the heap with a stable sort.
func TestRankingIsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quarters := rapid.SliceOfN(rapid.IntRange(-8, 8), 1, 40).Draw(t, "quarters")
		score := make([]float32, len(quarters))
		for i, q := range quarters {
			score[i] = float32(q) / 4
		}
		k := rapid.IntRange(-1, 45).Draw(t, "k")
		flags := make([]sampling.Flags, len(score))
		want := make([]int32, len(score))
		for i := range flags {
			flags[i], want[i] = eligible, int32(i)
		}
		in := row(flags, score)
		r := sdk.NewRow(&in)
		slices.SortStableFunc(want, func(a, b int32) int { return int(4 * (score[a] - score[b])) })
		if got := r.Eligible().SmallestBy(score, k).Indices(); !slices.Equal(got, want[:max(0, min(k, len(want)))]) {
			t.Fatalf("SmallestBy(%v, %d) = %v, want %v", score, k, got, want)
		}
		var all []int32
		for i := range r.Eligible().Ascending(score) {
			all = append(all, int32(i))
		}
		if !slices.Equal(all, want) {
			t.Fatalf("Ascending(%v) = %v, want %v", score, all, want)
		}
		slices.Sort(want)
		slices.SortStableFunc(want, func(a, b int32) int { return int(4 * (score[b] - score[a])) })
		if got := r.Eligible().LargestBy(score, len(score)).Indices(); !slices.Equal(got, want) {
			t.Fatalf("LargestBy(%v) = %v, want %v", score, got, want)
		}
	})
}

// TestDrawsAreWithoutReplacement: the first two of three positions, drawn by their weights, come in every order as often as
// sampling without replacement says. Five standard deviations of 20,000 draws; 6 cells, false alarms below 4e-6.
func TestDrawsAreWithoutReplacement(t *testing.T) {
	const draws = 20000
	weights := []float64{1, 2, 5}
	logs := []float32{0, float32(math.Log(2)), float32(math.Log(5))}
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]float64, 3)
	seen := map[[2]int32]int{}
	in := row([]sampling.Flags{eligible, eligible, eligible}, nil)
	for range draws {
		for i := range noise {
			noise[i] = sdk.GumbelOf(random.Float64())
		}
		at := sdk.NewRow(&in).Eligible().DrawBy(logs, noise, 2).Indices()
		seen[[2]int32(at)]++
	}
	for a, wa := range weights {
		for b, wb := range weights {
			if a == b {
				continue
			}
			p := wa / 8 * wb / (8 - wa)
			if got := float64(seen[[2]int32{int32(a), int32(b)}]); math.Abs(got-draws*p) > 5*math.Sqrt(draws*p*(1-p)) {
				t.Errorf("%d then %d: drawn %v times, expected about %v", a, b, got, draws*p)
			}
		}
	}
}

func TestDrawsWithoutNoise(t *testing.T) {
	p := sdk.NewPlannerFunc("draws", func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().DrawBy(r.Entropy, r.Gumbel, 1)) }, sdk.Needs(sdk.Entropy))
	_, err := plan(t, p, ``, row([]sampling.Flags{eligible}, []float32{1}))
	want := "planner draws, row 7, step 0: CONTRACT_VIOLATION: the scores have 0 entries and none for position 0; declare the statistic in sdk.Needs"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if pure, ok := p.(interface{ Pure() bool }); !ok || !pure.Pure() {
		t.Error("a planner that is a function is not pure")
	}
}

func TestWhatAPositionHas(t *testing.T) {
	in := sampling.Row{V: 2, Logits: []float32{1, 2, 3, 4}, K: 1, TopIDs: []int32{1, 1}, TopLogp: []float32{-.3, -.2}}
	r := sdk.NewRow(&in)
	ids, logp := r.TopAt(1)
	if diff := cmp.Diff([]any{[]float32{3, 4}, []int32{1}, []float32{-.2}}, []any{r.LogitsAt(1), ids, logp}); diff != "" {
		t.Error(diff)
	}
}
