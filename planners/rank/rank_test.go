package rank_test

import (
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/planners/rank"
)

func items(scores []float64) []rank.Item {
	out := make([]rank.Item, len(scores))
	for i, s := range scores {
		out[i] = rank.By(s, int32(i))
	}
	return out
}

func positions(items []rank.Item) []int {
	out := make([]int, len(items))
	for i, it := range items {
		out[i] = int(it.Position)
	}
	return out
}

func TestOrderOfSpecialScores(t *testing.T) {
	zero := math.Copysign(0, -1)
	scores := []float64{math.NaN(), math.Inf(1), 2, 0, zero, -1, math.Inf(-1), -math.NaN()}
	q := rank.NewQueue(items(scores))
	var got []int
	for len(q) > 0 {
		got = append(got, int(q.Pop().Position))
	}
	if diff := cmp.Diff([]int{6, 5, 3, 4, 2, 1, 0, 7}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// First and Queue agree with a stable sort, ties and all.
func TestAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// few distinct values make many ties
		scores := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			if rapid.Bool().Draw(t, "grid") {
				return float64(rapid.IntRange(-2, 2).Draw(t, "level"))
			}
			return rapid.Float64().Draw(t, "score")
		}), 0, 80).Draw(t, "scores")
		want := make([]int, len(scores))
		for i := range want {
			want[i] = i
		}
		sort.SliceStable(want, func(i, j int) bool { return scores[want[i]] < scores[want[j]] })
		k := rapid.IntRange(-1, len(scores)+1).Draw(t, "k")
		inside := min(max(k, 0), len(scores))

		first := positions(rank.First(items(scores), k))
		slices.Sort(first)
		wantFirst := slices.Clone(want[:inside])
		slices.Sort(wantFirst)
		if diff := cmp.Diff(wantFirst, first); diff != "" {
			t.Fatalf("First(%d) (-want +got):\n%s", k, diff)
		}

		q := rank.NewQueue(items(scores))
		popped := make([]int, 0, inside)
		for range inside {
			popped = append(popped, int(q.Pop().Position))
		}
		if diff := cmp.Diff(want[:inside], popped); diff != "" {
			t.Fatalf("Pop (-want +got):\n%s", diff)
		}
	})
}
