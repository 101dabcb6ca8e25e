package exact_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/insertion/exact"
)

// The posterior means are those of the reference, for equal speeds and unequal ones.
func TestAgainstReference(t *testing.T) {
	var all map[string]any // the rest of the file is for the package above
	goldenfile.Read(t, "../testdata/golden.json.gz", &all)
	g := all["exact"].(map[string]any)
	law, unequal := exact.Toy(), exact.Toy()
	for _, s := range g["b_in"].([]any) {
		unequal.BIn = append(unequal.BIn, numbers(s))
	}
	for _, s := range g["b_um"].([]any) {
		unequal.BUm = append(unequal.BUm, numbers(s))
	}
	of := map[bool]*exact.Posterior{false: exact.New(law), true: exact.New(unequal)}
	heads := g["heads"].([]any)
	for _, x := range heads {
		c := x.(map[string]any)
		var row []int32
		for _, token := range numbers(c["row"]) {
			if int(token) == law.V { // the reference's mask
				token = float64(law.Mask())
			}
			row = append(row, int32(token))
		}
		want := exact.Heads{UnmaskRate: numbers(c["um"]), InsertionRate: numbers(c["ins"]), Known: true}
		for _, k := range c["k"].([]any) {
			want.Tokens = append(want.Tokens, numbers(k))
		}
		got := of[c["unequal"].(bool)].Heads(row, c["u"].(float64))
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-12), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("row %v at u %v (-reference +ours):\n%s", row, c["u"], diff)
		}
	}
	if len(heads) < 90 {
		t.Errorf("%d rows, expected at least 90", len(heads))
	}
}

func numbers(of any) (out []float64) {
	for _, x := range of.([]any) {
		out = append(out, x.(float64))
	}
	return out
}

// A row that no string of the law can look like is answered, too.
func TestUnknownRow(t *testing.T) {
	law := exact.Toy()
	h := exact.New(law).Heads([]int32{1, 1, 1, law.Mask()}, 1)
	if h.Known || slices.Max(h.InsertionRate) > 0 || len(h.Tokens) != 4 || math.IsNaN(h.UnmaskRate[3]) {
		t.Errorf("got %+v", h)
	}
}
