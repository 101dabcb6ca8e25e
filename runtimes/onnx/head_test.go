package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

var allNeeds = sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true}

// tableOf makes logits [l, v] of every kind: plain, ties, holes of -Inf, nearly certain, certain, NaN, +Inf, all -Inf.
func tableOf(l, v int, rng *rand.Rand) []float32 {
	inf := float32(math.Inf(1))
	table := make([]float32, l*v)
	for i := range l {
		row := table[i*v : (i+1)*v]
		for j := range row {
			row[j] = float32(rng.NormFloat64() * []float64{1, 3, 8}[rng.IntN(3)])
		}
		k := rng.IntN(v)
		switch i % 9 {
		case 1:
			for j := range row {
				row[j] = float32(math.Round(float64(row[j])))
			}
		case 2:
			for j := range row {
				if rng.IntN(3) == 0 {
					row[j] = -inf
				}
			}
		case 3:
			row[k] += 30
		case 4:
			for j := range row {
				row[j] = -inf
			}
			row[k] = 2
		case 5:
			row[k] = float32(math.NaN())
		case 6:
			row[k] = inf
		case 7:
			for j := range row {
				row[j] = -inf
			}
		case 8:
			for j := range row {
				row[j] = 0.25
			}
		}
	}
	return table
}

// same tells whether two statistics agree within tol, absolute or relative.
func same(a, b float32, tol float64) bool {
	x, y := float64(a), float64(b)
	if x == y || x != x && y != y {
		return true
	}
	return math.Abs(x-y) <= tol*max(1, math.Abs(y))
}

// nearTie tells whether a draw may fall to another token by rounding: the uniform lies within 1e-5 of the boundary between the
// two tokens, or the boundary of top-k, top-p or min-p does.
func nearTie(logits []float32, head sampling.Head, batch *sampling.Batch, i, v int, a, b int32) bool {
	one := func(u float64, p sampling.Params) int32 {
		bt := &sampling.Batch{B: 1, L: 1, Tokens: []int64{0}, Active: []uint8{1}, Params: []sampling.Params{p}, Uniform: []float64{u}}
		if head.Draw == sampling.DrawGumbel {
			bt.Gumbel = batch.Gumbel[i*v : (i+1)*v]
		}
		var st sampling.Statistics
		h := head
		h.Needs = sampling.Needs{}
		if sampling.Compute(logits, v, bt, h, &st) != nil {
			return -9
		}
		return st.Proposal[0]
	}
	p := batch.Params[i/batch.L]
	u := batch.Uniform[i]
	for _, du := range []float64{-1e-5, 0, 1e-5} {
		for _, dp := range []float32{-1e-5, 0, 1e-5} {
			q := p
			q.TopP += dp
			q.MinP *= 1 + dp
			if one(min(max(u+du, 0x1p-53), 1-0x1p-53), q) == a {
				return true
			}
		}
	}
	return false
}

func TestHeadAgainstCompute(t *testing.T) {
	filters := []sampling.Params{{TopP: 1}, {TopK: 3, TopP: 1}, {TopP: 0.7}, {TopP: 1, MinP: 0.1}, {TopK: 40, TopP: 0.9, MinP: 0.01}, {TopK: 100000, TopP: 0.3}}
	for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
		for _, v := range []int{1, 2, 3, 17, 591, 50_000} {
			for _, variant := range []struct {
				name   string
				needs  sampling.Needs
				draw   sampling.Draw
				filter bool
				below  bool
			}{
				{"model", allNeeds, sampling.DrawInverseCDF, false, false},
				{"sampling", sampling.Needs{LogpProposal: sampling.OnSampling}, sampling.DrawInverseCDF, true, false},
				{"below", sampling.Needs{LogpProposal: sampling.OnSampling, Entropy: sampling.OnSampling}, sampling.DrawInverseCDF, true, true},
				{"sampling-gumbel", sampling.Needs{LogpProposal: sampling.OnSampling}, sampling.DrawGumbel, false, false},
				{"noised", sampling.Needs{LogpProposal: sampling.OnNoised}, sampling.DrawGumbel, false, false},
				{"noised-filtered", sampling.Needs{LogpProposal: sampling.OnNoised}, sampling.DrawGumbel, true, false},
				{"filtered", sampling.Needs{LogpProposal: sampling.OnTempered, Entropy: sampling.OnSampling}, sampling.DrawInverseCDF, true, false},
				{"peaks-tempered", sampling.Needs{P1: true, P2: true, PeaksOn: sampling.OnTempered, Entropy: sampling.OnModel}, sampling.DrawInverseCDF, true, false},
				{"peaks-sampling", sampling.Needs{P1: true, P2: true, PeaksOn: sampling.OnSampling}, sampling.DrawInverseCDF, true, false},
				{"peaks-sampling-below", sampling.Needs{P2: true, PeaksOn: sampling.OnSampling, LogpProposal: sampling.OnModel}, sampling.DrawInverseCDF, true, true},
				{"peaks-sampling-gumbel", sampling.Needs{P1: true, P2: true, PeaksOn: sampling.OnSampling}, sampling.DrawGumbel, true, false},
				{"peaks-unfiltered", sampling.Needs{P1: true, P2: true, PeaksOn: sampling.OnSampling}, sampling.DrawGumbel, false, false},
				{"candidates", sampling.Needs{P2: true, TopK: min(v, 5)}, sampling.DrawInverseCDF, true, false},
				{"many-candidates", sampling.Needs{TopK: min(v, 300), VocabDot: make([][]float32, 2)}, sampling.DrawGumbel, true, false},
				{"proposal", sampling.Needs{Proposal: true}, sampling.DrawGumbel, false, false},
			} {
				t.Run(fmt.Sprintf("%s/%d/%s", mode, v, variant.name), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(v), 5))
					l, b := 27, 6
					if v > 1000 {
						l = 9
					}
					if mode != onnx.HeadFused && v > 1000 {
						b = 2
					}
					table := tableOf(l, v, rng)
					head := sampling.Head{Needs: variant.needs, Draw: variant.draw, Filter: variant.filter, Below: variant.below, Suppress: []int32{int32(v) + 3}}
					if v > 2 {
						head.Suppress = append(head.Suppress, 1, int32(v-1), 1)
					}
					for k := range head.Needs.VocabDot {
						c := make([]float32, v)
						for j := range c {
							c[j] = rng.Float32()*2 - 1
						}
						head.Needs.VocabDot[k] = c
					}
					d := open(t, onnx.Model{Name: "table", Data: tableModel(table, v)}, onnx.Options{Head: mode, Threads: 2}, head)
					checkHead(t, d, head, table, b, l, v, func(i int) sampling.Params {
						p := filters[i%len(filters)]
						if !head.Filter {
							p = filters[0]
						}
						p.Temperature = []float32{0, 0.7, 1, 1, 0.7, 1.3}[i%6]
						return p
					}, rng)
				})
			}
		}
	}
}

// checkHead runs a random batch over the table's positions and compares everything with Compute.
func checkHead(t *testing.T, d *onnx.Denoiser, head sampling.Head, table []float32, b, l, v int, params func(int) sampling.Params, rng *rand.Rand) {
	t.Helper()
	batch := batchOf(t, d, b, l)
	for i := range batch.Tokens {
		batch.Tokens[i] = int64(rng.IntN(v + 2))
		batch.Uniform[i] = rng.Float64()
	}
	for i := range batch.Gumbel {
		batch.Gumbel[i] = -math.Log(-math.Log(rng.Float64()))
	}
	for i := range batch.Params {
		batch.Params[i] = params(i)
	}
	got := runOf(t, d)
	var want sampling.Statistics
	if err := sampling.Compute(slices.Repeat(table, b), v, batch, head, &want); err != nil {
		t.Fatal(err)
	}
	tol, ties := 1e-5, 0
	if v > 1024 {
		tol = 2e-4
	}
	differs := make([]bool, b*l) // the proposal, so its log-probability too
	for i, w := range want.Proposal {
		g := got.Proposal[i]
		if g == w {
			continue
		}
		differs[i] = true
		if g < 0 || w < 0 || !nearTie(table[i%l*v:(i%l+1)*v], head, batch, i, v, g, w) {
			t.Errorf("row %d, position %d, params %+v, u %g: proposal %d, want %d", i/l, i%l, batch.Params[i/l], batch.Uniform[i], g, w)
			continue
		}
		ties++
		t.Logf("near tie at row %d, position %d: %d for %d", i/l, i%l, g, w)
	}
	if ties > 1+b*l/100 {
		t.Errorf("%d near ties of %d draws", ties, b*l)
	}
	n := &head.Needs
	for _, s := range []struct {
		name      string
		is        bool
		got, want []float32
	}{
		{"p1", n.P1, got.P1, want.P1}, {"p2", n.P2, got.P2, want.P2}, {"entropy", n.Entropy != 0, got.Entropy, want.Entropy},
		{"logp_current", n.LogpCurrent, got.LogpCurrent, want.LogpCurrent}, {"logp_proposal", n.LogpProposal != 0, got.LogpProposal, want.LogpProposal},
		{"top_logp", n.TopK > 0, got.TopLogp, want.TopLogp}, {"vocab_dot", len(n.VocabDot) > 0, got.VocabDot, want.VocabDot},
	} {
		if !s.is {
			continue
		}
		if len(s.got) != len(s.want) {
			t.Fatalf("%s has %d values, want %d", s.name, len(s.got), len(s.want))
		}
		for i := range s.want {
			if s.name == "logp_proposal" && differs[i] {
				continue
			}
			if !same(s.got[i], s.want[i], tol) {
				t.Errorf("%s[%d] (position %d) is %g, want %g", s.name, i, i%l, s.got[i], s.want[i])
				break
			}
		}
	}
	if n.TopK > 0 && !slices.Equal(got.TopIDs, want.TopIDs) {
		t.Errorf("candidates differ: %v, want %v", got.TopIDs[:10], want.TopIDs[:10])
	}
}

// The kernel's other instruction sets, and logits and temperatures far from the usual: ranking starts from a guessed range.
func TestFusedHeadEverywhere(t *testing.T) {
	const l, v = 18, 3000
	for _, simd := range []string{"avx512", "avx2", "baseline"} {
		for i, scale := range []float32{1e-4, 1, 300, 1e-4, 1, 300} {
			t.Run(fmt.Sprintf("%s/%d/%g", simd, i/3, scale), func(t *testing.T) {
				t.Setenv("MDMHOST_SIMD", simd)
				if got := onnx.Check(onnx.Options{}).Instructions; got != simd {
					t.Logf("this machine runs %s instead", got)
				}
				rng := rand.New(rand.NewPCG(11, 4))
				table := tableOf(l, v, rng)
				for i := range table {
					table[i] *= scale
				}
				head := sampling.Head{Filter: true, Suppress: []int32{0, 5, 600, 601}, Needs: allNeeds}
				head.Needs.TopK = 70
				if i >= 3 {
					head.Needs.PeaksOn = sampling.OnSampling
				}
				d := open(t, onnx.Model{Name: "table", Data: tableModel(table, v)}, onnx.Options{}, head)
				checkHead(t, d, head, table, 8, l, v, func(i int) sampling.Params {
					return []sampling.Params{{Temperature: 1, TopP: 0.5}, {Temperature: 0.01, TopP: 0.5, TopK: 9}, {Temperature: 20, TopP: 0.99}, {Temperature: 1, TopP: 1, TopK: 1},
						{Temperature: 3, TopP: 1, TopK: 2999}, {Temperature: 1, TopP: 0.001}, {Temperature: 5, TopP: 0.8, MinP: 0.3, TopK: 1500}, {TopP: 1}}[i]
				}, rng)
			})
		}
	}
}
