package openvino_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

// Models of fixed size run smaller batches, padded, where they have a mask, and refuse others.
func TestFixedSize(t *testing.T) {
	fix := func(m *graph.Model) {
		for _, v := range append(m.Graph.Inputs, m.Graph.Outputs...) {
			v.Shape = slices.Concat([]graph.Dim{graph.Known(2), graph.Known(3)}, v.Shape[2:])
		}
	}
	m := tableModel([]float32{5, 1, 2, 0, 7, 1, 9, 0, 4}, 3, fix)
	for _, mode := range []string{openvino.HeadGo, openvino.HeadGraph} {
		d := open(t, m, openvino.Options{Head: mode, Warmup: true}, peaks)
		if caps := d.Capabilities(); caps.FixedRows != 2 || caps.FixedLength != 3 || caps.MaxRows != 2 {
			t.Errorf("capabilities %+v, expected 2 rows of 3", caps)
		}
		for _, rows := range []int{1, 2, 1} {
			batchOf(t, d, rows, 3)
			if got, want := runOf(t, d).Proposal, slices.Repeat([]int32{2, 1, 2}, rows); !slices.Equal(got, want) {
				t.Errorf("head %s, %d rows: %v, expected %v", mode, rows, got, want)
			}
		}
		_, err := d.Batch(3, 3)
		contains(t, err, "a batch of 3 rows, and the model was exported for 2; use --batch 2")
		_, err = d.Batch(1, 2)
		contains(t, err, "a row of 2 positions, and the model takes exactly 3")
	}
}

// Weights may lie in files beside the model, whatever head is appended.
func TestExternalData(t *testing.T) {
	needOpenVINO(t)
	dir := t.TempDir()
	table := graph.OfFloats("table", []int64{2, 3}, []float32{5, 1, 2, 0, 7, 1})
	if err := os.MkdirAll(filepath.Join(dir, "weights"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "weights", "table.bin"), table.Raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m := tableModel([]float32{0, 0, 0, 0, 0, 0}, 3, func(m *graph.Model) {
		m.Graph.Initializers[0] = &graph.Tensor{Name: "table", Type: graph.Float32, Dims: []int64{2, 3}, External: []graph.Entry{{Key: "location", Value: "weights/table.bin"}}}
	})
	path := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(path, m.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	for _, mode := range []string{openvino.HeadGo, openvino.HeadGraph} {
		d := open(t, openvino.Model{Name: "external", Path: path, V: 3}, openvino.Options{Head: mode}, peaks)
		batchOf(t, d, 1, 2)
		if got := runOf(t, d).Proposal; !slices.Equal(got, []int32{2, 1}) {
			t.Errorf("head %s proposes %v, expected 2 and 1", mode, got)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What stands between logits and statistics, and what the head remembers, is that of ONNX Runtime, pass after pass.
func TestStemAndMemory(t *testing.T) {
	needOpenVINO(t)
	m, manifest := embedded(t, "sudoku")
	const b, l = 2, 12
	for name, head := range map[string]sampling.Head{
		"guidance": {Needs: sampling.Needs{P1: true, Entropy: sampling.OnModel}, Guidance: 1.5},
		"memory":   {Needs: sampling.Needs{P1: true, KLPrev: true}, Edits: sampling.Edits{Credit: sampling.Credit{Alpha: 0.6, Gamma: 0.5, Beta: 0.9}}},
		"edits":    {Needs: sampling.Needs{P1: true, P2: true}, Edits: sampling.Edits{Repetition: 1.3, Left: 0.5, Bias: []sampling.Bias{{Token: 3, Value: -2}}}},
		"filter":   {Needs: sampling.Needs{P1: true, Entropy: sampling.OnSampling, LogpProposal: sampling.OnSampling}, Filter: true},
		"dots":     {Needs: sampling.Needs{VocabDot: [][]float32{slices.Repeat([]float32{0.5}, manifest.V)}, TopK: 3}},
		"gumbel":   {Needs: sampling.Needs{P1: true}, Draw: sampling.DrawGumbel},
	} {
		head.Suppress = manifest.Suppress()
		reference, err := onnx.Open(t.Context(), m, onnx.Options{Head: onnx.HeadGo, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer reference.Close()
		if err := reference.Configure(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{openvino.HeadGo, openvino.HeadGraph} {
			d := open(t, m, openvino.Options{Head: mode, Threads: 1}, head)
			for pass := range 3 {
				var of [2]*sampling.Statistics
				for i, one := range []sampling.Denoiser{reference, d} {
					batch := batchOf(t, one, b, l)
					states(batch, uint64(pass), m)
					copy(batch.Unconditional, batch.Tokens)
					for j := range batch.Unconditional {
						if j%3 == 0 {
							batch.Unconditional[j] = int64(m.MaskID)
						}
					}
					for j := range batch.Gumbel {
						batch.Gumbel[j] = math.Sin(float64(j))
					}
					for j := range batch.Fresh {
						batch.Fresh[j] = 0
						if pass == 0 {
							batch.Fresh[j] = 1
						}
						batch.Params[j].TopK, batch.Params[j].TopP, batch.Params[j].MinP = 7, 0.9, 0.01
					}
					of[i] = runOf(t, one)
				}
				differ := 0
				for i := range of[0].Proposal {
					if of[0].Proposal[i] != of[1].Proposal[i] {
						differ++
					}
				}
				if differ > 0 {
					t.Errorf("%s, head %s, pass %d: %d of %d proposals differ", name, mode, pass, differ, b*l)
				}
				for k, s := range [][2][]float32{{of[0].P1, of[1].P1}, {of[0].P2, of[1].P2}, {of[0].Entropy, of[1].Entropy}, {of[0].KLPrev, of[1].KLPrev}, {of[0].VocabDot, of[1].VocabDot}, {of[0].LogpProposal, of[1].LogpProposal}} {
					for i, want := range s[0] {
						if got := s[1][i]; math.Abs(float64(got-want)) > 1e-4 || math.IsNaN(float64(got)) {
							t.Errorf("%s, head %s, pass %d: statistic %d at %d: %g, expected %g", name, mode, pass, k, i, got, want)
						}
					}
				}
			}
		}
	}
}

// A pass allocates nothing.
func TestAllocations(t *testing.T) {
	d := open(t, tableModel([]float32{5, 1, 2}, 3), openvino.Options{}, peaks)
	batchOf(t, d, 1, 1)
	runOf(t, d)
	if n := testing.AllocsPerRun(50, func() {
		if _, err := d.Batch(1, 1); err != nil {
			t.Error(err)
		}
		if _, err := d.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%g allocations a pass, expected none", n)
	}
}
