//go:build gpu

package onnx_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// These tests demand a GPU and fail without one. MDMHOST_GPU_PROVIDER=cpu tries them on the CPU, as far as that goes.
var gpu = cmp.Or(os.Getenv("MDMHOST_GPU_PROVIDER"), "cuda")

// onGPU ends a test that says nothing on the CPU, with a word about it.
func onGPU(t *testing.T) {
	t.Helper()
	if gpu == "cpu" {
		t.Skip("the CPU stands in for a GPU, and this test is about GPUs")
	}
}

// Statistics with and without memory, pass by pass, against the head in Go on the logits that came out.
func TestGPUHeads(t *testing.T) {
	const v = 37
	for _, change := range []func(*sampling.Head){
		func(*sampling.Head) {},
		func(h *sampling.Head) { h.Needs.KLPrev = true },
		func(h *sampling.Head) { h.Edits.Credit = sampling.Credit{Alpha: 0.5, Gamma: 0.5, Beta: 0.9} },
		func(h *sampling.Head) { h.Guidance = 1.5 },
		func(h *sampling.Head) { h.Filter = true },
	} {
		head := sampling.Head{Suppress: []int32{0}, Needs: allNeeds}
		head.Needs.Logits = true
		change(&head)
		for _, graphs := range []bool{false, true} {
			if graphs && gpu == "cpu" {
				continue
			}
			d := open(t, onnx.Model{Name: "embed", Data: embedModel(v, 16, v), V: v}, onnx.Options{Provider: gpu, Head: onnx.HeadGraph, CUDAGraph: graphs}, head)
			oracle, rng := &sampling.Memory{}, rand.New(rand.NewPCG(5, 6))
			for step := range script {
				checkPass(t, d, oracle, head, step, v, rng)
			}
		}
	}
}

// What the CPU and the GPU make of the same model differs by what float32 allows, and the proposals where they are near ties alone.
func TestGPUAgainstCPU(t *testing.T) {
	for _, v := range []int{17, 591, 50000} {
		head := sampling.Head{Suppress: []int32{0}, Needs: sampling.Needs{Proposal: true, P1: true, P2: true, Entropy: sampling.OnModel}}
		m := onnx.Model{Name: "embed", Data: embedModel(64, 64, v), V: v}
		var all []*sampling.Statistics
		for _, provider := range []string{"cpu", gpu} {
			d := open(t, m, onnx.Options{Provider: provider, Head: onnx.HeadGraph}, head)
			batch := batchOf(t, d, 3, 21)
			for i := range batch.Tokens {
				batch.Tokens[i], batch.Uniform[i] = int64(i%64), 0.5
			}
			all = append(all, runOf(t, d))
		}
		ties := 0
		for i, p := range all[0].P1 {
			for name, s := range map[string][2]float32{"p1": {p, all[1].P1[i]}, "p2": {all[0].P2[i], all[1].P2[i]}, "entropy": {all[0].Entropy[i], all[1].Entropy[i]}} {
				if !same(s[0], s[1], 1e-4) {
					t.Errorf("V %d, position %d: %s is %g on the CPU and %g on %s", v, i, name, s[0], s[1], gpu)
				}
			}
			if all[0].Proposal[i] != all[1].Proposal[i] {
				if ties++; math.Abs(float64(p-all[0].P2[i])) > 1e-3 {
					t.Errorf("V %d, position %d: token %d on the CPU and %d on %s, with margin %g", v, i, all[0].Proposal[i], all[1].Proposal[i], gpu, p-all[0].P2[i])
				}
			}
		}
		t.Logf("V %d: %d near ties in %d positions", v, ties, len(all[0].P1))
	}
}

// Everything that computes runs on the GPU.
func TestGPUPlacement(t *testing.T) {
	onGPU(t)
	head := sampling.Head{Suppress: []int32{0}, Needs: allNeeds, Filter: true}
	d := open(t, onnx.Model{Name: "embed", Data: embedModel(37, 16, 37), V: 37}, onnx.Options{Provider: gpu}, head)
	if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, "runs all") {
		t.Errorf("notes: %s", notes)
	}
}

// A CUDA graph that is replayed gives what it gave when it was recorded, for new tokens, too.
func TestGPUGraphs(t *testing.T) {
	onGPU(t)
	head := sampling.Head{Suppress: []int32{0}, Needs: allNeeds}
	m := onnx.Model{Name: "embed", Data: embedModel(37, 16, 37), V: 37}
	plain := open(t, m, onnx.Options{Provider: gpu}, head)
	graphs := open(t, m, onnx.Options{Provider: gpu, CUDAGraph: true}, head)
	rng := rand.New(rand.NewPCG(1, 2))
	for pass := range 12 {
		b, l := 1+pass%3, 8+pass%2
		batches := []*sampling.Batch{batchOf(t, plain, b, l), batchOf(t, graphs, b, l)}
		for i := range batches[0].Tokens {
			token, u := int64(rng.IntN(37)), rng.Float64()
			for _, batch := range batches {
				batch.Tokens[i], batch.Uniform[i] = token, u
			}
		}
		want, got := runOf(t, plain), runOf(t, graphs)
		for i := range want.P1 {
			if got.Proposal[i] != want.Proposal[i] || !same(got.P1[i], want.P1[i], 1e-6) {
				t.Fatalf("pass %d, position %d: token %d at %g, want %d at %g", pass, i, got.Proposal[i], got.P1[i], want.Proposal[i], want.P1[i])
			}
		}
	}
}

// A batch that is too large for the GPU is refused by name, and a smaller one runs afterwards.
func TestGPUOutOfMemory(t *testing.T) {
	onGPU(t)
	const v = 50000
	d := open(t, onnx.Model{Name: "embed", Data: embedModel(64, 64, v), V: v}, onnx.Options{Provider: gpu}, sampling.Head{Suppress: []int32{0}, Needs: sampling.Needs{P1: true}})
	batchOf(t, d, 4096, 1024) // whose logits are 839 GB
	if _, err := d.Run(t.Context()); !errors.Is(err, onnx.ErrOutOfMemory) {
		t.Fatalf("got %v", err)
	}
	batchOf(t, d, 1, 8)
	runOf(t, d)
}

// A context that ends during a pass ends the pass, and the next one runs.
func TestGPUCancel(t *testing.T) {
	d := open(t, onnx.Model{Name: "embed", Data: embedModel(64, 64, 5000), V: 5000}, onnx.Options{Provider: gpu, Head: onnx.HeadGraph}, sampling.Head{Suppress: []int32{0}, Needs: sampling.Needs{P1: true}})
	batchOf(t, d, 8, 64)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := d.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	batchOf(t, d, 2, 8)
	runOf(t, d)
}

// A device that is not there is named, with what there is.
func TestGPUAbsentDevice(t *testing.T) {
	onGPU(t)
	_, err := onnx.Open(t.Context(), onnx.Model{Name: "embed", Data: embedModel(8, 4, 8), V: 8}, onnx.Options{Provider: gpu, Device: 99})
	if err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("got %v", err)
	}
}
