package p2_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/p2"
)

// apply writes a decision onto the tokens, as the host does.
func apply(tokens, proposal []int32, d sampling.Decision) []int32 {
	out := slices.Clone(tokens)
	for _, i := range d.Open {
		out[i] = proposal[i]
	}
	for _, i := range d.Remask {
		out[i] = try.Mask
	}
	return out
}

// The counts of section 3.1 of the sheet: how many positions are masked after each step.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		kappa    string
		ten, six []int // N=10, T=4 and N=16, T=5
	}{
		{"linear", []int{7, 5, 2, 0}, []int{12, 9, 6, 3, 0}},
		{"cosine", []int{9, 7, 3, 0}, []int{15, 12, 9, 4, 0}},
		{"sine", []int{6, 2, 0, 0}, []int{11, 6, 3, 0, 0}},
		{"half_cosine", []int{8, 5, 1, 0}, []int{14, 10, 5, 1, 0}},
		{"quad", []int{9, 7, 4, 0}, []int{15, 13, 10, 5, 0}},
		{"sqrt", []int{5, 2, 1, 0}, []int{8, 5, 3, 1, 0}},
		{"geometric", []int{5, 2, 0, 0}, []int{10, 5, 2, 0, 0}},
		{"log", []int{6, 4, 1, 0}, []int{11, 8, 5, 2, 0}},
	} {
		for n, want := range map[int][]int{10: c.ten, 16: c.six} {
			p := p2.New()
			try.Start(t, p, `{"kappa":"`+c.kappa+`"}`)
			row := try.Row(try.Blank(n), 0, len(want))
			row.LogpProposal, row.LogpCurrent = make([]float32, n), make([]float32, n)
			var got []int
			for row.Step = range want {
				got = append(got, n-len(try.Ask(t, p, row).Open))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d blanks, %d steps (-sheet +ours):\n%s", c.kappa, n, len(want), diff)
			}
		}
	}
}

// The example of section 3.5: x = [a . b . .], keep 3.
func TestEta(t *testing.T) {
	logs := []float32{ln(.3), ln(.9), ln(.8), ln(.5), ln(.2)}
	for _, mode := range []string{"paper", "code"} {
		for eta, want := range map[string][]int32{
			"0": {0, 7, 1, try.Mask, try.Mask}, "0.5": {0, 7, 1, try.Mask, try.Mask},
			"1": {try.Mask, 7, 1, 7, try.Mask}, "2": {try.Mask, 7, 1, 7, try.Mask},
		} {
			p := p2.New()
			try.Start(t, p, `{"eta":`+eta+`,"eta_mode":"`+mode+`"}`)
			row := try.Row([]int32{0, try.Mask, 1, try.Mask, try.Mask}, 2, 5)
			row.LogpProposal, row.LogpCurrent = logs, logs
			got := apply(row.Token, []int32{7, 7, 7, 7, 7}, try.Ask(t, p, row))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, eta %s (-want +got):\n%s", mode, eta, diff)
			}
		}
	}
}

func TestTiesMaskTheHigherIndex(t *testing.T) {
	p := p2.New()
	try.Start(t, p, `{}`)
	row := try.Row(try.Blank(4), 0, 2)
	row.LogpProposal, row.LogpCurrent = []float32{-1, -1, -1, -1}, make([]float32, 4)
	if diff := cmp.Diff([]int32{0, 1}, try.Ask(t, p, row).Open); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A step that opens nothing is skipped only where nothing is written: cosine keeps the single blank until the end.
func TestEmptyStepsAreSkipped(t *testing.T) {
	p := p2.New()
	try.Start(t, p, `{"kappa":"cosine"}`)
	row := try.Row(try.Blank(1), 0, 9)
	row.LogpProposal, row.LogpCurrent = []float32{-1}, []float32{0}
	want := sampling.Decision{Open: []int32{0}, ActedAs: 8}
	if diff := cmp.Diff(want, try.Ask(t, p, row), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"eta":-1}`, `{"eta":"inf"}`, `{"eta":"NaN"}`, `{"eta_mode":"code_maskd"}`, `{"kappa":"lin"}`} {
		if _, err := p2.New().Start(context.Background(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}

// Counts hold, blocked masks stay, eta 0 never masks again: for any row, step and scores.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "n")
		tokens := rapid.SliceOfN(rapid.SampledFrom([]int32{1, try.Mask}), n, n).Draw(rt, "tokens")
		steps := rapid.IntRange(1, 60).Draw(rt, "steps")
		row := try.Row(tokens, rapid.IntRange(0, steps-1).Draw(rt, "step"), steps)
		logp := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 5), func(i int) float32 { return -float32(i) }), n, n)
		row.LogpProposal, row.LogpCurrent = logp.Draw(rt, "fresh"), logp.Draw(rt, "written")
		blocked := 0
		for i := range row.Flags {
			if tokens[i] == try.Mask && rapid.IntRange(0, 9).Draw(rt, "blocked") == 0 {
				row.Flags[i] = sampling.Masked
				blocked++
			}
		}
		eta := rapid.SampledFrom([]string{"0", "1", "1.5"}).Draw(rt, "eta")
		p := p2.New()
		try.Start(t, p, `{"eta":`+eta+`}`)
		d := try.Ask(t, p, row)
		step := max(row.Step, d.ActedAs)
		left := n * (steps - step - 1) / steps
		if eta == "0" {
			left = min(left, count(tokens))
		}
		after := 0
		for _, token := range apply(tokens, make([]int32, n), d) {
			if token == try.Mask {
				after++
			}
		}
		if after != max(left, blocked) {
			rt.Fatalf("%d masked after step %d of %d, want %d (%d blocked)", after, step, steps, left, blocked)
		}
		if eta == "0" && len(d.Remask) > 0 {
			rt.Fatalf("eta 0 masked %v again", d.Remask)
		}
		for _, i := range d.Open {
			if row.Flags[i]&sampling.Eligible == 0 {
				rt.Fatalf("opened %d, which is not eligible", i)
			}
		}
	})
}

func count(tokens []int32) (masked int) {
	for _, t := range tokens {
		if t == try.Mask {
			masked++
		}
	}
	return masked
}

func ln(p float64) float32 { return float32(math.Log(p)) }
