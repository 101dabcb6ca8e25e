//go:build gpu

package onnx

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// gpuProvider is what the tests run on: CUDA, or the CPU in its place, where no test about the device itself says anything.
func gpuProvider() string {
	if os.Getenv("MDMHOST_GPU_PROVIDER") == cpu {
		return "stand-in1"
	}
	return cuda
}

func needsGPU(t *testing.T) {
	t.Helper()
	if gpuProvider() != cuda {
		t.Skip("the CPU stands in for a GPU, and this test is about GPUs")
	}
}

// A replayed CUDA graph gives what the session gives without, number for number, and touches the device alone.
func TestGPUReplays(t *testing.T) {
	replays(t, gpuProvider(), rowsOf(t, Options{Provider: gpuProvider(), Threads: 1}, deviceHead, plainRun(t)))
}

// opened opens the small model on a GPU, configured.
func opened(t *testing.T, m Model, o Options) *Denoiser {
	t.Helper()
	d, err := Open(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Configure(t.Context(), deviceHead); err != nil {
		t.Fatal(err)
	}
	return d
}

// The host's memory of a pass is page-locked.
func TestGPUPinnedMemory(t *testing.T) {
	needsGPU(t)
	d := opened(t, biased(), Options{Provider: cuda})
	if notes := strings.Join(d.Notes(), "\n"); strings.Contains(notes, "pageable") || d.pinned == nil {
		t.Errorf("notes %q", notes)
	}
}

// Both kinds of half precision run, near float32.
func TestGPUPrecisions(t *testing.T) {
	needsGPU(t)
	decoded, err := graph.Decode(biased().Data)
	if err != nil {
		t.Fatal(err)
	}
	run := func(m Model) []float32 {
		d := opened(t, m, Options{Provider: cuda})
		batch, err := d.Batch(2, 6)
		if err != nil {
			t.Fatal(err)
		}
		fill(batch, 0)
		var s *sampling.Statistics
		if s, err = d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return append([]float32(nil), s.P1...)
	}
	want := run(biased())
	for name, half := range map[string]func(*graph.Model) (*graph.Model, error){"fp16": precision.Half, "bf16": precision.BFloat16} {
		made, err := half(decoded)
		if err != nil {
			t.Fatal(err)
		}
		m := biased()
		m.Data = made.Encode()
		for i, p := range run(m) {
			if off := math.Abs(float64(p - want[i])); !(off < 0.05) {
				t.Errorf("%s: p1 of position %d is off by %g", name, i, off)
			}
		}
	}
}
