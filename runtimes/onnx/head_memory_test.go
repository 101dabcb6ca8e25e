package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// script is a run as a host drives it: which rows step together, who is new, how long the batch is.
var script = []struct {
	slots  []int32
	fresh  []uint8
	length int
}{
	{[]int32{0, 1, 2}, []uint8{1, 1, 1}, 9},
	{[]int32{0, 1, 2}, []uint8{0, 0, 0}, 9},
	{[]int32{2, 0}, []uint8{0, 0}, 7},
	{[]int32{0, 1, 2}, []uint8{0, 0, 0}, 9},
	{[]int32{1}, []uint8{0}, 4},
	{[]int32{3, 1, 0}, []uint8{1, 0, 1}, 12}, // a slot more, a row that is replaced, and longer than before
	{[]int32{3, 1, 0}, []uint8{0, 0, 0}, 12},
	{[]int32{3, 0}, []uint8{0, 0}, 12},
	{[]int32{3, 0}, []uint8{0, 0}, 10}, // the same rows, shorter
	{[]int32{3, 0}, []uint8{0, 0}, 12},
}

// checkPass fills a pass of the script with random rows, runs it and compares everything with the head in Go, which has the
// logits that came out.
func checkPass(t *testing.T, d *onnx.Denoiser, oracle *sampling.Memory, head sampling.Head, step, v int, rng *rand.Rand) {
	t.Helper()
	pass := script[step]
	b, l := len(pass.slots), pass.length
	batch := batchOf(t, d, b, l)
	copy(batch.Slots, pass.slots)
	copy(batch.Fresh, pass.fresh)
	for i := range batch.Tokens {
		batch.Tokens[i], batch.Uniform[i] = int64(rng.IntN(v)), rng.Float64()
		if rng.IntN(2) == 0 {
			batch.Tokens[i] = 0 // the mask
		}
		batch.Active[i], batch.Attention[i] = 1, 1
		if rng.IntN(6) == 0 {
			batch.Active[i] = 0
		}
		if i%l > l-3 && i/l == 1 {
			batch.Attention[i], batch.Active[i] = 0, 0
		}
	}
	for i := range batch.Unconditional {
		batch.Unconditional[i] = int64(rng.IntN(v))
	}
	for i := range batch.Params {
		batch.Params[i] = sampling.Params{Temperature: []float32{0, 0.7, 1}[rng.IntN(3)], TopP: 1}
		if head.Filter {
			batch.Params[i].TopP = 0.8
		}
	}
	got := runOf(t, d)
	var want sampling.Statistics
	if err := oracle.Compute(got.Logits, v, batch, head, &want); err != nil {
		t.Fatal(err)
	}
	forgotten := 0
	for i, active := range batch.Active {
		if active == 0 {
			continue
		}
		if got.Proposal[i] != want.Proposal[i] {
			t.Errorf("pass %d, row %d, position %d: proposal %d, want %d", step, i/l, i%l, got.Proposal[i], want.Proposal[i])
			continue
		}
		for name, s := range map[string][2][]float32{"p1": {got.P1, want.P1}, "entropy": {got.Entropy, want.Entropy}, "kl_prev": {got.KLPrev, want.KLPrev},
			"logp_proposal": {got.LogpProposal, want.LogpProposal}, "logp_current": {got.LogpCurrent, want.LogpCurrent}} {
			if s[1] != nil && !same(s[0][i], s[1][i], 1e-5) {
				t.Errorf("pass %d, row %d, position %d: %s %g, want %g", step, i/l, i%l, name, s[0][i], s[1][i])
			}
		}
		if head.Needs.KLPrev && math.IsInf(float64(got.KLPrev[i]), 1) {
			forgotten++
		}
	}
	if known := head.Needs.KLPrev && step > 0; known && forgotten > b*l-2 {
		t.Errorf("pass %d: %d positions have no past", step, forgotten)
	}
}

var everyEdit = sampling.Edits{Bias: []sampling.Bias{{Token: 3, Value: -2}, {Token: 5, Value: 1.5}, {Token: 999999, Value: 9}}, Repetition: 1.3, Left: 2,
	Credit: sampling.Credit{Alpha: 0.7, Gamma: 0.2, Beta: 0.8}}

// Edits, credits and kl_prev in every head, over passes of changing batches, against the head in Go.
func TestHeadsOverPasses(t *testing.T) {
	fixed := func(m *graph.Model) {
		for _, x := range append(m.Graph.Inputs, m.Graph.Outputs...) {
			x.Shape = append([]graph.Dim{graph.Known(8), graph.Known(12)}, x.Shape[2:]...)
		}
		m.Graph.Inputs = append(m.Graph.Inputs, tensor("attention_mask", graph.Int64, graph.Known(8), graph.Known(12)))
	}
	for name, edits := range map[string]sampling.Edits{
		"none": {}, "bias": {Bias: everyEdit.Bias}, "repetition": {Repetition: 1.3}, "less than one": {Repetition: 0.8}, "left": {Left: 2},
		"credit": {Credit: everyEdit.Credit}, "all": everyEdit, "all, guided": everyEdit,
	} {
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			for _, v := range []int{7, 591} {
				for _, kl := range []bool{true, false} {
					for _, change := range [][]func(*graph.Model){nil, {fixed}} {
						t.Run(fmt.Sprintf("%s/%s/%d/kl %v/fixed %v", name, mode, v, kl, change != nil), func(t *testing.T) {
							rng := rand.New(rand.NewPCG(uint64(v), 2))
							head := sampling.Head{Needs: allNeeds, Suppress: []int32{0, 4}, Edits: edits, Filter: kl, Below: kl}
							head.Needs.Logits, head.Needs.KLPrev = true, kl
							if name == "all, guided" {
								head.Guidance = 0.5
							}
							if kl {
								head.Needs.LogpProposal = sampling.OnSampling
							}
							d := open(t, onnx.Model{Name: "embed", Data: embedModel(v, 8, v, change...)}, onnx.Options{Head: mode, Threads: 2, Warmup: true}, head)
							var oracle sampling.Memory
							for step := range script {
								checkPass(t, d, &oracle, head, step, v, rng)
							}
						})
					}
				}
			}
		}
	}
}

// onDevices are providers that stand for a GPU: their memory is another, and the second replays CUDA graphs.
var onDevices = []onnx.Options{{Provider: "stand-in0", Head: onnx.HeadGraph}, {Provider: "stand-in1", Head: onnx.HeadGraph, CUDAGraph: true}}

// What the head keeps stays on a device from pass to pass, whoever comes, goes and comes back.
func TestHeadsOnADevice(t *testing.T) {
	for _, o := range onDevices {
		for name, edits := range map[string]sampling.Edits{"none": {}, "credit": {Credit: everyEdit.Credit}, "all": everyEdit} {
			for _, kl := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/kl %v", o.Provider, name, kl), func(t *testing.T) {
					const v = 37
					rng := rand.New(rand.NewPCG(v, 2))
					head := sampling.Head{Needs: allNeeds, Suppress: []int32{0, 4}, Edits: edits}
					head.Needs.Logits, head.Needs.KLPrev = true, kl
					d := open(t, onnx.Model{Name: "embed", Data: embedModel(v, 8, v)}, o, head)
					var oracle sampling.Memory
					for step := range script {
						fails(t, d, step)
						checkPass(t, d, &oracle, head, step, v, rng)
					}
				})
			}
		}
	}
}

// fails runs a pass of the script that the model refuses, which leaves what is known of the rows as it was.
func fails(t *testing.T, d *onnx.Denoiser, step int) {
	t.Helper()
	batch := batchOf(t, d, len(script[step].slots), script[step].length)
	copy(batch.Slots, script[step].slots)
	clear(batch.Fresh)
	for i := range batch.Tokens {
		batch.Tokens[i] = 1 << 20
	}
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "compare token ids and lengths with config.json") {
		t.Fatalf("pass %d: error %v", step, err)
	}
}

// The kernel's other instruction sets, with more tokens than one block.
func TestFusedMemoryEverywhere(t *testing.T) {
	const v = 2000
	for _, simd := range []string{"avx512", "avx2", "baseline"} {
		t.Run(simd, func(t *testing.T) {
			t.Setenv("MDMHOST_SIMD", simd)
			rng := rand.New(rand.NewPCG(8, 2))
			head := sampling.Head{Needs: allNeeds, Suppress: []int32{0, 4, 700}, Edits: everyEdit, Filter: true, Below: true}
			head.Needs.Logits, head.Needs.KLPrev, head.Needs.LogpProposal = true, true, sampling.OnSampling
			d := open(t, onnx.Model{Name: "embed", Data: embedModel(v, 8, v)}, onnx.Options{Threads: 2}, head)
			var oracle sampling.Memory
			for step := range script {
				checkPass(t, d, &oracle, head, step, v, rng)
			}
		})
	}
}

// What is remembered costs no allocation of its own once slots are as long as their rows.
func TestMemoryAllocatesNothing(t *testing.T) {
	for _, o := range append([]onnx.Options{{Head: onnx.HeadFused}, {Head: onnx.HeadGraph}, {Head: onnx.HeadGo}}, onDevices...) {
		count := func(head sampling.Head) float64 {
			d := open(t, onnx.Model{Name: "embed", Data: embedModel(20, 4, 30)}, o, head)
			batch := batchOf(t, d, 2, 4)
			batch.Slots[0] = 1
			runOf(t, d)
			return testing.AllocsPerRun(20, func() { runOf(t, d) })
		}
		plain, more := sampling.Head{Needs: allNeeds}, sampling.Head{Needs: allNeeds, Edits: everyEdit}
		more.Needs.KLPrev = true
		if without, with := count(plain), count(more); with > without {
			t.Errorf("head %s, provider %s: %g allocations a run, %g without memory and edits", o.Head, o.Provider, with, without)
		}
	}
}

// Rows that a memory cannot tell apart are refused, and leave it as it was.
func TestSlotsAreChecked(t *testing.T) {
	for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
		d := open(t, onnx.Model{Name: "embed", Data: embedModel(20, 4, 30)}, onnx.Options{Head: mode}, sampling.Head{Needs: sampling.Needs{KLPrev: true}})
		for _, slots := range [][2]int32{{0, 0}, {-1, 0}} {
			batch := batchOf(t, d, 2, 4)
			copy(batch.Slots, slots[:])
			if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "slot") {
				t.Errorf("head %s, slots %v: error %v", mode, slots, err)
			}
		}
	}
}
