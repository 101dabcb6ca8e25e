package diffusion_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

// A row's noise depends on neither the split of the batch nor the padding: whatever part of a batch is drawn, and however
// wide, agrees with the whole.
func TestNoiseOfAPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := diffusion.NewNoise(rapid.Uint64().Draw(t, "seed"), rapid.String().Draw(t, "name"))
		step := rapid.Int64Range(0, 1<<55).Draw(t, "step")
		B, L := rapid.IntRange(1, 9).Draw(t, "B"), rapid.IntRange(1, 37).Draw(t, "L")
		first := rapid.IntRange(0, B-1).Draw(t, "first")
		count, wide := rapid.IntRange(1, B-first).Draw(t, "count"), L+rapid.IntRange(0, 9).Draw(t, "padding")

		all, part := make([]float32, B*L), make([]float32, count*wide)
		n.Uniform(all, step, 0, L)
		n.Uniform(part, step, first, wide)
		for r := range count {
			if got, want := part[r*wide:r*wide+L], all[(first+r)*L:(first+r+1)*L]; !slices.Equal(got, want) {
				t.Fatalf("row %d: uniforms %v in part, %v in whole", first+r, got, want)
			}
		}

		sampler := diffusion.TimeSampler(rapid.SampledFrom(diffusion.TimeSamplers()).Draw(t, "sampler"))
		times, some := make([]float32, B), make([]float32, count)
		n.Time(times, step, 0, B, sampler, 0)
		n.Time(some, step, first, B, sampler, 0)
		if !slices.Equal(some, times[first:first+count]) {
			t.Fatalf("%s: times %v in part, %v in whole", sampler, some, times[first:first+count])
		}

		ranks, padded := make([]int64, B*L), make([]float32, count*wide)
		diffusion.Ranks(n, ranks, step, 0, L)
		diffusion.Ranks(n, padded, step, first, wide)
		for r := range count {
			row := ranks[(first+r)*L : (first+r+1)*L]
			if sorted := slices.Sorted(slices.Values(row)); sorted[0] != 0 || sorted[L-1] != int64(L-1) || len(slices.Compact(sorted)) != L {
				t.Fatalf("ranks %v are no permutation", row)
			}
			for i := range L {
				for j := range L {
					if (row[i] < row[j]) != (padded[r*wide+i] < padded[r*wide+j]) {
						t.Fatalf("padding from %d to %d reorders columns %d and %d", L, wide, i, j)
					}
				}
			}
		}
	})
}

// Seeds, names, steps, rows, columns and kinds of noise do not share numbers.
func TestNoiseKeys(t *testing.T) {
	seen := map[string]string{}
	note := func(what string, seed uint64, name string, step int64, row int) {
		u := make([]float32, 8)
		diffusion.NewNoise(seed, name).Uniform(u, step, row, 8)
		for half, part := range [][]float32{u[:4], u[4:]} {
			key := fmt.Sprint(part)
			if other, ok := seen[key]; ok {
				t.Errorf("%s, half %d, and %s share their noise", what, half, other)
			}
			seen[key] = what
		}
	}
	note("base", 7, "u", 5, 3)
	note("seed", 8, "u", 5, 3)
	note("high seed", 7+1<<32, "u", 5, 3)
	note("name", 7, "v", 5, 3)
	note("empty name", 7, "", 5, 3)
	note("step", 7, "u", 6, 3)
	note("high step", 7, "u", 5+1<<32, 3)
	note("row", 7, "u", 5, 4)
	n := diffusion.NewNoise(7, "u")
	row, times := make([]float32, 64), make([]float32, 1)
	n.Uniform(row, 5, 3, 64)
	n.Time(times, 5, 3, 8, diffusion.IID, 0)
	if slices.Contains(row, times[0]) {
		t.Error("times repeat a uniform of the same name")
	}
}

// The numbers of one seed, for ever: a change of them would break the resumption of every run.
func TestNoiseIsPinned(t *testing.T) {
	n := diffusion.NewNoise(1, "u")
	u, times, ranks := make([]float32, 6), make([]float32, 3), make([]int64, 5)
	n.Uniform(u, 2, 3, 6)
	n.Time(times, 2, 3, 8, diffusion.Stratified, 1e-4)
	diffusion.Ranks(n, ranks, 2, 3, 5)
	if got, want := fmt.Sprint(u, times, ranks), pinned; got != want {
		t.Errorf("noise %s, want %s", got, want)
	}
}

const pinned = `[0.13227123 0.8223075 0.4444633 0.55453235 0.25051254 0.7100646] [0.42930833 0.57894045 0.6455539] [1 4 3 2 0]`

// Chi-square over 64 cells with 2^20 draws; the bound is beyond the 1 - 1e-7 quantile of 63 degrees of freedom (136.4 by the
// Wilson-Hilferty formula). Correlation of neighbours: |r| sqrt(n) is normal, 6 has a false-alarm rate of 2e-9. Together
// below 1e-6.
func TestUniformity(t *testing.T) {
	const rows, cols = 2048, 512
	u := make([]float32, rows*cols)
	diffusion.NewNoise(11, "u").Uniform(u, 0, 0, cols)
	var cells [64]float64
	right, below := 0.0, 0.0
	for i, x := range u {
		if !(x > 0 && x < 1) || float64(x)*(1<<24) != math.Trunc(float64(x)*(1<<24)) || int(x*(1<<24))%2 != 1 {
			t.Fatalf("uniform %v is not (k + 1/2)/2^23 inside (0, 1)", x)
		}
		cells[int(x*64)]++
		if i+1 < len(u) {
			right += 12 * (float64(x) - 0.5) * (float64(u[i+1]) - 0.5)
		}
		if i+cols < len(u) {
			below += 12 * (float64(x) - 0.5) * (float64(u[i+cols]) - 0.5)
		}
	}
	want, chi := float64(len(u))/64, 0.0
	for _, c := range cells {
		chi += (c - want) * (c - want) / want
	}
	if chi > 140 {
		t.Errorf("chi-square %.1f over 63 degrees of freedom, want below 140", chi)
	}
	for name, sum := range map[string]float64{"columns": right, "rows": below} {
		if z := sum / math.Sqrt(float64(len(u))); math.Abs(z) > 6 {
			t.Errorf("neighbouring %s correlate: z = %.1f", name, z)
		}
	}
}

// All 24 orders of 4 columns are as likely: chi-square with 23 degrees of freedom over 48,000 rows; its 1 - 1e-7 quantile is
// 75.
func TestRankOrders(t *testing.T) {
	const rows = 48_000
	ranks := make([]int64, rows*4)
	diffusion.Ranks(diffusion.NewNoise(3, "rank"), ranks, 9, 0, 4)
	seen := map[[4]int64]float64{}
	for r := range rows {
		seen[[4]int64(ranks[r*4:])]++
	}
	chi := float64(24-len(seen)) * rows / 24
	for _, c := range seen {
		chi += (c - rows/24) * (c - rows/24) / (rows / 24)
	}
	if chi > 80 {
		t.Errorf("chi-square %.1f over 23 degrees of freedom, want below 80", chi)
	}
}

// Times lie in [eps, 1-eps]; shared offsets and strata put one time in each stratum; the mean over many batches is 1/2.
func TestTimes(t *testing.T) {
	const B, steps = 16, 4000
	for _, name := range diffusion.TimeSamplers() {
		sampler := diffusion.TimeSampler(name)
		n, times, sum := diffusion.NewNoise(2, "t"), make([]float32, B), 0.0
		for step := range int64(steps) {
			n.Time(times, step, 0, B, sampler, 1e-3)
			var strata [B]int
			for _, x := range times {
				if x < 0.000999 || x > 0.999001 {
					t.Fatalf("%s: time %v outside [eps, 1-eps]", name, x)
				}
				strata[int(x*B)]++
				sum += float64(x)
			}
			if sampler != diffusion.IID && slices.Max(strata[:]) != 1 {
				t.Fatalf("%s: strata hold %v times", name, strata)
			}
		}
		// The iid mean has the largest spread of the three, sqrt(1/12/n); 6 of it alarm at 2e-9.
		if mean := sum / (B * steps); math.Abs(mean-0.5) > 6*math.Sqrt(1./12/(B*steps)) {
			t.Errorf("%s: mean time %v, want 1/2", name, mean)
		}
	}
}

// Whatever the batch size rounds to, times in float32 stay strictly inside (0, 1).
func TestTimesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		B := rapid.IntRange(1, 3000).Draw(t, "B")
		times := make([]float32, B)
		sampler := diffusion.TimeSampler(rapid.SampledFrom(diffusion.TimeSamplers()).Draw(t, "sampler"))
		diffusion.NewNoise(rapid.Uint64().Draw(t, "seed"), "t").Time(times, 0, 0, B, sampler, 0)
		if slices.Min(times) <= 0 || slices.Max(times) >= 1 {
			t.Fatalf("%s, B %d: times from %v to %v", sampler, B, slices.Min(times), slices.Max(times))
		}
		for _, at := range times {
			for _, T := range []int{1, 3, 1000} {
				if s, up := diffusion.Snap(float64(at), T); s < 0 || up > 1 {
					t.Fatalf("snap of %v, T %d: %v to %v", at, T, s, up)
				}
			}
		}
	})
	if s, up := diffusion.Snap(math.Nextafter(1, 0), 3); up != 1 || s != 2./3 {
		t.Errorf("snap of the last time before 1: %v to %v", s, up)
	}
}

// The noise of the forward process masks the fraction u, and exact counts mask exactly k.
func TestForwardSample(t *testing.T) {
	const n, mask = 1 << 16, 9
	x0, xt, uniform, free := make([]int64, n), make([]int64, n), make([]float32, n), make([]bool, n)
	for i := range free {
		free[i] = i%4 != 0
	}
	diffusion.NewNoise(4, "u").Uniform(uniform, 0, 0, n)
	diffusion.ForwardSample(xt, x0, uniform, free, 0.3, mask)
	masked := 0.0
	for i, x := range xt {
		if x == mask {
			masked++
			if !free[i] {
				t.Fatalf("position %d is not free and was masked", i)
			}
		}
	}
	// Binomial of 3n/4 with p 0.3; six standard deviations alarm at 2e-9.
	if math.Abs(masked-0.3*0.75*n) > 6*math.Sqrt(0.3*0.7*0.75*n) {
		t.Errorf("%v of %d masked, want about %v", masked, n, 0.3*0.75*n)
	}
	rapid.Check(t, func(t *rapid.T) {
		L := rapid.IntRange(1, 40).Draw(t, "L")
		free := rapid.SliceOfN(rapid.Bool(), L, L).Draw(t, "free")
		count := 0
		for _, f := range free {
			if f {
				count++
			}
		}
		k := diffusion.MaskCount(rapid.Float64Range(0, 1).Draw(t, "u"), count)
		if k > count || k < min(count, 1) {
			t.Fatalf("%d masks of %d tokens", k, count)
		}
		rank, xt, masked := make([]int64, L), make([]int64, L), 0
		diffusion.Ranks(diffusion.NewNoise(rapid.Uint64().Draw(t, "seed"), "rank"), rank, 0, 0, L)
		diffusion.ExactCountSample(xt, xt, rank, free, k, mask)
		for i, x := range xt {
			if x == mask {
				masked++
				if !free[i] {
					t.Fatalf("position %d is not free and was masked", i)
				}
			}
		}
		if masked != k || (k > 0 && diffusion.ExactCountWeight(count, k) != float64(count)/float64(k)) {
			t.Fatalf("%d masked, want %d", masked, k)
		}
	})
	if diffusion.ExactCountWeight(5, 0) != 0 {
		t.Error("no masks have a weight")
	}
}

func TestNoiseAllocatesNothing(t *testing.T) {
	n, u, ranks := diffusion.NewNoise(1, "u"), make([]float32, 8*33), make([]int64, 8*33)
	if a := testing.AllocsPerRun(10, func() {
		n.Uniform(u, 1, 0, 33)
		n.Time(u[:8], 1, 0, 8, diffusion.SharedOffset, 0)
		diffusion.Ranks(n, ranks, 1, 0, 33)
	}); a != 0 {
		t.Errorf("%v allocations, want none", a)
	}
}

func BenchmarkUniform64x256(b *testing.B) {
	n, u := diffusion.NewNoise(1, "u"), make([]float32, 64*256)
	for i := range int64(b.N) {
		n.Uniform(u, i, 0, 256)
	}
}

func BenchmarkRanks64x256(b *testing.B) {
	n, ranks := diffusion.NewNoise(1, "rank"), make([]int64, 64*256)
	for i := range int64(b.N) {
		diffusion.Ranks(n, ranks, i, 0, 256)
	}
}
