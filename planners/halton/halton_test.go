package halton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/planners/halton"
)

// The first points are (1/2, 1/3), (1/4, 2/3), (3/4, 1/9), (1/8, 4/9), (5/8, 7/9), ...: on a 2 x 3 grid the cells (1, 1),
// (0, 2), (1, 0), (0, 1), (1, 2) and, after (3/8, 2/9), (0, 0).
func TestRanks(t *testing.T) {
	if diff := cmp.Diff([]float64{5, 3, 1, 2, 0, 4}, halton.Ranks(2, 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every cell comes once, and the first k cells spread: on a square grid of side 12 every quarter has its share of the first
// 36 within 2.
func TestRanksSpread(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(1, 20).Draw(rt, "rows"), rapid.IntRange(1, 20).Draw(rt, "cols")
		seen := make([]bool, rows*cols)
		for _, r := range halton.Ranks(rows, cols) {
			if seen[int(r)] {
				rt.Fatalf("%d x %d: rank %v twice", rows, cols, r)
			}
			seen[int(r)] = true
		}
	})
	var quarter [4]int
	for cell, r := range halton.Ranks(12, 12) {
		if r < 36 {
			quarter[cell/12/6*2+cell%12/6]++
		}
	}
	for _, n := range quarter {
		if n < 7 || n > 11 {
			t.Errorf("quarters of the first 36 cells: %v", quarter)
		}
	}
}
