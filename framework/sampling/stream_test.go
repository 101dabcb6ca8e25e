package sampling

import (
	"math"
	"testing"
)

func TestUniformStaysInside(t *testing.T) {
	if u := uniform([4]uint32{}); u != 0x1p-53 {
		t.Errorf("smallest uniform %g, want 2^-53", u)
	}
	if u := uniform([4]uint32{math.MaxUint32, math.MaxUint32}); u >= 1 || u != 1-0x1p-53 {
		t.Errorf("largest uniform %v, want 1 - 2^-53", u)
	}
}

// A position's noise depends on its key alone, not on the window that it is drawn in.
func TestStreamKeys(t *testing.T) {
	s := Stream{Seed: 7}
	all, part := make([]float64, 100), make([]float64, 10)
	s.Uniforms(all, 3, 5, 0, PurposeDraw)
	s.Uniforms(part, 3, 5, 40, PurposeDraw)
	for i, u := range part {
		if u != all[40+i] {
			t.Fatalf("position %d: %v in a window, %v in the row", 40+i, u, all[40+i])
		}
	}
	seen := map[float64]string{}
	note := func(name string, row int64, step int, p Purpose, seed uint64) {
		u := make([]float64, 1)
		Stream{seed}.Uniforms(u, row, step, 9, p)
		if other, ok := seen[u[0]]; ok {
			t.Errorf("%s and %s share their noise", name, other)
		}
		seen[u[0]] = name
	}
	note("base", 3, 5, PurposeDraw, 7)
	note("row", 4, 5, PurposeDraw, 7)
	note("high row", 3+1<<32, 5, PurposeDraw, 7)
	note("step", 3, 6, PurposeDraw, 7)
	note("purpose", 3, 5, PurposeUniform, 7)
	note("seed", 3, 5, PurposeDraw, 8)
	note("high seed", 3, 5, PurposeDraw, 7+1<<32)
}

// Chi-square over 64 cells with 10^6 draws; the bound is the 1 - 1e-7 quantile of chi-square with 63 degrees of freedom
// (136.4 by the Wilson-Hilferty formula), so the false-alarm rate lies below 1e-6.
func TestUniformity(t *testing.T) {
	u := make([]float64, 1_000_000)
	Stream{Seed: 11}.Uniforms(u, 0, 0, 0, PurposeDraw)
	var cells [64]float64
	for _, x := range u {
		cells[int(x*64)]++
	}
	want, chi := float64(len(u))/64, 0.0
	for _, c := range cells {
		chi += (c - want) * (c - want) / want
	}
	if chi > 140 {
		t.Errorf("chi-square %.1f over 63 degrees of freedom, want below 140", chi)
	}
}

func TestGumbelMoments(t *testing.T) {
	g := make([]float64, 400_000)
	Stream{Seed: 5}.TokenGumbels(g, 1, 2, 3)
	mean := 0.0
	for _, x := range g {
		mean += x / float64(len(g))
	}
	// Mean 0.5772, standard deviation 1.2825: six standard errors are 0.0122 (false alarms 2e-9).
	if math.Abs(mean-0.57722) > 0.0122 {
		t.Errorf("mean of Gumbel noise %.4f, want 0.5772", mean)
	}
}
