package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPermuted: every epoch has every row once.
func TestPermuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 700).Draw(t, "n")
		seed, epoch := rapid.Uint64().Draw(t, "seed"), rapid.Int64Range(0, 1<<40).Draw(t, "epoch")
		seen := make([]bool, n)
		for i := range n {
			at := permuted(seed, epoch, i, n)
			if at < 0 || at >= n || seen[at] {
				t.Fatalf("row %d of %d comes at %d again", at, n, i)
			}
			seen[at] = true
		}
	})
	if at := permuted(1, 2, 1<<40, 1<<40+1); at < 0 || at > 1<<40 {
		t.Errorf("row %d of a large set", at)
	}
}

// TestPermutationsAreUniform: chi-square of all pairs (first row, second row) over 20,000 epochs of 7 rows; the bound is the
// 1 - 1e-7 quantile with 41 degrees of freedom (100.5 by the Wilson-Hilferty formula).
func TestPermutationsAreUniform(t *testing.T) {
	const n, epochs = 7, 20_000
	var cells [n * n]float64
	for e := range int64(epochs) {
		cells[permuted(5, e, 0, n)*n+permuted(5, e, 1, n)]++
	}
	want, chi := float64(epochs)/(n*(n-1)), 0.0
	for i, c := range cells {
		if i/n != i%n {
			chi += (c - want) * (c - want) / want
		}
	}
	if chi > 102 {
		t.Errorf("chi-square %.1f over 41 degrees of freedom, want below 102", chi)
	}
}

// TestCropsAreUniform: the bound is the 1 - 1e-7 quantile of chi-square with 63 degrees of freedom.
func TestCropsAreUniform(t *testing.T) {
	var cells [64]float64
	for p := range int64(100_000) {
		cells[crop(9, p, 640)/10]++
	}
	chi := 0.0
	for _, c := range cells {
		chi += (c - 100_000./64) * (c - 100_000./64) / (100_000. / 64)
	}
	if chi > 140 {
		t.Errorf("chi-square %.1f over 63 degrees of freedom, want below 140", chi)
	}
	if crop(1, 2, 1) != 0 {
		t.Error("the only window starts at 0")
	}
}

// sets are a padded set with fixed positions and a packed one.
func sets(t testing.TB) map[string]*Data {
	var csv strings.Builder
	csv.WriteString("p,t\n")
	for i := range 23 {
		fmt.Fprintf(&csv, ".%d,x%[1]d\n", i+10)
	}
	return map[string]*Data{
		"padded": open(t, spec(func(s *Spec) {
			s.Train, s.Column, s.FixedColumn, s.Blank, s.Layout, s.Length = []string{put(t, "a.csv", csv.String())}, "t", "p", ".", Padded, 5
		})),
		"packed": open(t, spec(func(s *Spec) { s.Train, s.Length = []string{put(t, "a.txt", "abcdefghijklmnopqrstuvwxyz")}, 5 })),
	}
}

// TestResume: what a position holds does not depend on the batches before it, nor on their size.
func TestResume(t *testing.T) {
	for name, d := range sets(t) {
		for _, order := range []Order{Random, InOrder} {
			l := &Loader{Data: d.Train, Order: order, Seed: 3}
			all := NewBatch(100, 5)
			if n, err := l.Fill(all, 0); n != 100 || err != nil {
				t.Fatal(n, err)
			}
			rapid.Check(t, func(t *rapid.T) {
				b := NewBatch(rapid.IntRange(1, 40).Draw(t, "rows"), 5)
				at := rapid.IntRange(0, 60).Draw(t, "position")
				for i := range b.Free { // buffers are used again
					b.Free[i], b.Fixed[i] = true, true
				}
				n, err := l.Fill(b, int64(at))
				if n != len(b.Lengths) || err != nil {
					t.Fatal(n, err)
				}
				want := &Batch{all.Tokens[at*5:][:n*5], all.Lengths[at:][:n], all.Fixed[at*5:][:n*5], all.Free[at*5:][:n*5]}
				if diff := cmp.Diff(want, b); diff != "" {
					t.Fatalf("%s: %s", name, diff)
				}
			})
		}
	}
}

// TestRandomOrder: seeds and epochs differ, and an epoch of padded rows has each once.
func TestRandomOrder(t *testing.T) {
	for name, d := range sets(t) {
		fill := func(seed uint64, position int64) string {
			b := NewBatch(23, 5)
			if _, err := (&Loader{Data: d.Train, Seed: seed}).Fill(b, position); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(b.Tokens)
		}
		texts := []string{fill(1, 0), fill(2, 0), fill(1, 23), fill(1+1<<32, 0)}
		if slices.Sort(texts); len(slices.Compact(texts)) != 4 {
			t.Errorf("%s: orders are the same", name)
		}
	}
	d := sets(t)["padded"]
	b := NewBatch(23, 5)
	l := &Loader{Data: d.Train, Seed: 1}
	for epoch := range int64(3) {
		if _, err := l.Fill(b, epoch*23); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for k := range 23 {
			rows = append(rows, decode(d.Vocabulary, Row{Tokens: b.Tokens[k*5:], Length: 3}))
		}
		slices.Sort(rows)
		for i, row := range rows {
			if want := fmt.Sprintf("x%d", i+10); row != want {
				t.Errorf("epoch %d: %s, want %s", epoch, row, want)
			}
		}
	}
	if e, row := l.Epoch(50); e != 2 || row != 4 {
		t.Errorf("position 50 is row %d of epoch %d", row, e)
	}
}

// TestEvaluation: every row once, then rows of length 0 that count nothing.
func TestEvaluation(t *testing.T) {
	for name, d := range sets(t) {
		l := &Loader{Data: d.Train, Order: Once}
		rows, tokens := 0, 0
		for position := int64(0); ; position += 4 {
			b := NewBatch(4, 5)
			n, err := l.Fill(b, position)
			if err != nil {
				t.Fatal(err)
			}
			for k := range 4 {
				if (b.Lengths[k] == 0) != (k >= n) {
					t.Errorf("%s: row %d of %d has length %d", name, k, n, b.Lengths[k])
				}
				for i := k * 5; i < (k+1)*5; i++ {
					real := int64(i-k*5) < b.Lengths[k]
					if b.Free[i] != (real && !b.Fixed[i]) || b.Fixed[i] && !real || !real && b.Tokens[i] != int64(d.Vocabulary.Pad) {
						t.Errorf("%s: position %d: token %d, free %v, fixed %v", name, i, b.Tokens[i], b.Free[i], b.Fixed[i])
					}
				}
				tokens += int(b.Lengths[k])
			}
			if rows += n; n == 0 {
				break
			}
		}
		if want := map[string]int{"padded": 23 * 3, "packed": 25}[name]; rows != d.Train.Rows() || tokens != want {
			t.Errorf("%s: %d rows of %d tokens, want %d", name, rows, tokens, want)
		}
	}
}

// TestFillWithoutSome: buffers that nobody reads may be left out.
func TestFillWithoutSome(t *testing.T) {
	l := &Loader{Data: sets(t)["padded"].Train, Seed: 1}
	want, got := NewBatch(4, 5), NewBatch(4, 5)
	got.Fixed, got.Lengths = nil, nil
	for _, b := range []*Batch{want, got, {Tokens: make([]int64, 20)}} {
		if _, err := l.Fill(b, 7); err != nil {
			t.Fatal(err)
		}
	}
	if !cmp.Equal(want.Free, got.Free) || !cmp.Equal(want.Tokens, got.Tokens) {
		t.Error("free or tokens differ where fixed is not asked for")
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	for name, d := range sets(t) {
		l, b, position := &Loader{Data: d.Train, Seed: 1}, NewBatch(16, 5), int64(0)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := l.Fill(b, position); err != nil {
				t.Error(err)
			}
			position += 16
		}); n > 0 {
			t.Errorf("%s: %g allocations a batch", name, n)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	d := open(b, spec(func(s *Spec) {
		s.Train, s.Column, s.FixedColumn, s.Blank, s.Layout, s.Length = []string{shared + "puzzle/sudoku_valid.csv.gz"}, "solution", "puzzle", "0", Padded, 81
	}))
	l, batch := &Loader{Data: d.Train}, NewBatch(64, 81)
	for position := int64(0); b.Loop(); position += 64 {
		if _, err := l.Fill(batch, position); err != nil {
			b.Fatal(err)
		}
	}
}
