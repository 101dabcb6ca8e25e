package view

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// grown is a row of an insertion model that ends in a fixed token: two masks come, then the second is opened while one comes at the
// front and another between the two; then the first and the opened one leave. Guesses are those of the row before the step.
func grown() []sampling.Frame {
	return []sampling.Frame{
		{Index: 7, Steps: 4, Tokens: []int32{0}, Flags: []sampling.Flags{f}},
		{Index: 7, Step: 0, Steps: 4, NFE: 1, Tokens: []int32{0, 0, 0}, Flags: []sampling.Flags{m, m, f}, Guess: []int32{-1}, Inserted: []sampling.Insertion{{Gap: 0, Count: 2}}},
		{Index: 7, Step: 1, Steps: 4, NFE: 2, Tokens: []int32{0, 0, 0, 2, 0}, Flags: []sampling.Flags{m, m, m, 0, f}, Guess: []int32{1, 2, -1}, Opened: []int32{1},
			Inserted: []sampling.Insertion{{Gap: 0, Count: 1}, {Gap: 1, Count: 1}}},
		{Index: 7, Step: 2, Steps: 4, NFE: 3, Tokens: []int32{0, 0, 0}, Flags: []sampling.Flags{m, m, f}, Guess: []int32{6, 1, 5, -1, -1}, Deleted: []int32{0, 3}},
	}
}

// What a screen shows after each step: new masks are marked, in colour or by their sign, until the step after; proposals move with
// their masks.
func TestDrawGrowth(t *testing.T) {
	var got strings.Builder
	for _, look := range []Look{{Styled: true, Width: 40}, {OneLine: true}} {
		var c canvas
		for k, frame := range grown() {
			c.take(frame, k)
			got.WriteString(strings.ReplaceAll(c.draw(piece, look), "\x1b", "^[") + "\n")
		}
	}
	file := filepath.Join("testdata", "growing.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// Masks that came between two drawings are all marked in the second, however many steps were made.
func TestFreshUntilDrawn(t *testing.T) {
	var c canvas
	for k, frame := range grown()[:3] {
		c.take(frame, k)
	}
	if got, want := c.draw(piece, Look{OneLine: true}), "row 7  step 2/4  nfe 2  length 5  ▓▓▓c"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	if got, want := c.draw(piece, Look{OneLine: true}), "▓▓▓c"; !strings.HasSuffix(got, want) { // slow models are looked at more than once
		t.Errorf("%q, expected %q", got, want)
	}
	c.take(grown()[3], 3)
	if got, want := c.draw(piece, Look{OneLine: true}), "length 3  ░░"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
	c.take(sampling.Frame{Index: 8, Steps: 2, Tokens: []int32{0}, Flags: []sampling.Flags{m}}, 0) // another row in the slot
	if got, want := c.draw(piece, Look{OneLine: true}), "row 8  step 0/2  nfe 0  ░"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

// Long rows wrap and stay within the height; the program that redraws them never gives up its screen.
func TestWatchGrowth(t *testing.T) {
	var b strings.Builder
	w := NewWatch(&b, false, piece)
	w.open(tea.WithWindowSize(20, 6))
	tokens, flags := []int32{0}, []sampling.Flags{f}
	w.Admitted(sampling.Frame{Index: 1, Steps: 60, Tokens: tokens, Flags: flags})
	for k := range 60 {
		tokens, flags = append([]int32{2}, tokens...), append([]sampling.Flags{m}, flags...)
		w.Stepped(sampling.Frame{Index: 1, Step: k, Steps: 60, NFE: k + 1, Tokens: tokens, Flags: flags, Guess: make([]int32, k+1), Inserted: []sampling.Insertion{{Gap: 0, Count: 1}}})
	}
	if text := w.canvas.draw(piece, Look{Width: 19, Height: 5, Styled: true}); strings.Count(text, "\n") != 4 || strings.Contains(text, "more lines") {
		t.Errorf("60 masks on lines of 19: %q", text)
	}
	w.Finished(sampling.Result{Index: 1, Tokens: []int32{1, 6, 0}, Finish: sampling.FinishComplete, Steps: 60, NFE: 60})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "CN") {
		t.Errorf("the last state is missing from %q", b.String())
	}
}

// Nobody knows how long rows that grow will be: the share of their steps is told, and their lengths.
func TestProgressOfGrowth(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false, 2, 0)
	p.Growing()
	clock := p.start.Add(quiet)
	p.now = func() time.Time { return clock }
	all := grown()
	p.Admitted(all[0])
	p.Stepped(all[1])
	clock = clock.Add(reportEvery)
	p.Stepped(all[2])
	clock = clock.Add(reportEvery)
	p.Finished(sampling.Result{Index: 7, Tokens: []int32{2, 2, 2, 0}, NFE: 4, Opened: 3})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "0 of 2 rows, 0% of the steps, mean length 1.0, 0.00 tokens per NFE\n0 of 2 rows, 25% of the steps, mean length 5.0, 0.50 tokens per NFE\n" +
		"1 of 2 rows, 50% of the steps, mean length 4.0, 0.75 tokens per NFE\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSummaryOfGrowth(t *testing.T) {
	var l Lengths
	for _, n := range []int{4, 9, 2} {
		l.Add(sampling.Result{Tokens: make([]int32, n), Capped: max(n-7, 0)})
	}
	s := Summary{Accounts: sampling.Accounts{Tokens: 12}, Finishes: map[sampling.Finish]int{sampling.FinishComplete: 2, sampling.FinishLength: 1}, Lengths: &l}
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	if want := "rows      3 rows (2 complete, 1 at the cap on length), 12 tokens in 0s\nlengths   mean 5.0, from 2 to 9; the cap on length refused insertions in 1 row (2 steps)\n"; !strings.Contains(b.String(), want) {
		t.Errorf("expected %q in\n%s", want, b.String())
	}
}
