package count_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

var names = []string{"auto", "k", "uniform", "linear", "cosine", "dream", "alpha", "arccos", "pow2", "pow3", "pow0.5", "log", "exp"}

// run plays a row to its end and returns the counts and the steps that they belong to.
func run(t interface{ Fatalf(string, ...any) }, s count.Stay, blanks, steps int) (opened, at []int) {
	for masked, step := blanks, 0; masked > 0; step++ {
		n, acted := s.Next(blanks, masked, step, steps)
		if n < 1 || n > masked || acted < step || acted >= max(steps, step+1) {
			t.Fatalf("blanks %d steps %d: at step %d with %d masked: opens %d as step %d", blanks, steps, step, masked, n, acted)
		}
		masked, step = masked-n, acted
		opened, at = append(opened, n), append(at, acted)
	}
	return opened, at
}

//go:embed testdata/counts.json
var golden []byte

func TestAgainstReference(t *testing.T) {
	var rows []struct {
		Schedule      string
		Blanks, Steps int
		Open          []int
	}
	if err := json.Unmarshal(golden, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		s, err := count.Named(row.Schedule, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := run(t, s, row.Blanks, row.Steps)
		if diff := cmp.Diff(row.Open, got); diff != "" {
			t.Errorf("%s, %d blanks, %d steps (-reference +ours):\n%s", row.Schedule, row.Blanks, row.Steps, diff)
		}
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name                  string
		k, blanks, steps      int
		wantOpen, wantActedAs []int
	}{
		{"k", 1, 3, 3, []int{1, 1, 1}, []int{0, 1, 2}},
		{"k", 2, 5, 9, []int{2, 2, 1}, []int{0, 1, 2}},
		{"k", 2, 9, 3, []int{2, 2, 5}, []int{0, 1, 2}},
		{"auto", 2, 5, 3, []int{2, 2, 1}, []int{0, 1, 2}},
		{"auto", 1, 9, 4, []int{3, 2, 2, 2}, []int{0, 1, 2, 3}},
		{"auto", 99, 9, 4, []int{9}, []int{0}},
		{"uniform", 1, 2, 5, []int{1, 1}, []int{0, 1}},
		{"linear", 1, 2, 5, []int{1, 1}, []int{0, 2}},
		{"cosine", 1, 10, 4, []int{1, 2, 4, 3}, []int{0, 1, 2, 3}},
		{"dream", 1, 2, 4, []int{2}, []int{3}},
		{"arccos", 1, 6, 2, []int{2, 4}, []int{0, 1}},
		{"log", 1, 16, 4, []int{8, 4, 3, 1}, []int{0, 1, 2, 3}},
		{"exp", 1, 16, 4, []int{2, 2, 4, 8}, []int{0, 1, 2, 3}},
	} {
		t.Run(fmt.Sprintf("%s k%d n%d t%d", c.name, c.k, c.blanks, c.steps), func(t *testing.T) {
			s, err := count.Named(c.name, c.k)
			if err != nil {
				t.Fatal(err)
			}
			open, at := run(t, s, c.blanks, c.steps)
			if diff := cmp.Diff([][]int{c.wantOpen, c.wantActedAs}, [][]int{open, at}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownSchedule(t *testing.T) {
	if _, err := count.Named("cosin", 1); err == nil {
		t.Error("a schedule that does not exist was accepted")
	}
}

// Whatever the sizes, a schedule sums to the blanks within its steps, and an interrupted plan (positions that were
// masked again) still ends at the last step.
func TestEverySumIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := count.Named(rapid.SampledFrom(names).Draw(t, "name"), rapid.IntRange(1, 1<<40).Draw(t, "k"))
		if err != nil {
			t.Fatal(err)
		}
		blanks, steps := rapid.IntRange(1, 300).Draw(t, "blanks"), rapid.IntRange(1, 300).Draw(t, "steps")
		opened, at := run(t, s, blanks, steps)
		sum := 0
		for _, n := range opened {
			sum += n
		}
		if sum != blanks || at[len(at)-1] >= steps {
			t.Fatalf("opened %d of %d blanks by step %d of %d", sum, blanks, at[len(at)-1], steps)
		}
		masked := rapid.IntRange(0, blanks).Draw(t, "masked")
		if n, _ := s.Next(blanks, masked, steps-1, steps); n != masked {
			t.Fatalf("the last step opens %d of %d", n, masked)
		}
		if n, _ := s.Next(blanks, masked, steps+3, steps); n != masked {
			t.Fatalf("beyond the last step opens %d of %d", n, masked)
		}
	})
}
