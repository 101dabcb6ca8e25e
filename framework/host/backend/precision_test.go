package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func settings(precision string) config.Runtime {
	return config.Runtime{Kind: config.KindONNX, Provider: "cpu", Device: []int{0}, Head: "graph", Optimize: "all", Arena: true, Threads: 1, Precision: precision}
}

// p1 runs a pass of the model and returns the largest probabilities.
func p1(t *testing.T, r config.Runtime, m *model.Model, o backend.Options) []float32 {
	t.Helper()
	d, err := backend.Open(t.Context(), r, m, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := d.Configure(t.Context(), sampling.Head{Suppress: []int32{m.MaskID}, Needs: sampling.Needs{P1: true}}); err != nil {
		t.Fatal(err)
	}
	batch, err := d.Batch(1, 81)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch.Tokens {
		batch.Tokens[i], batch.Attention[i], batch.Active[i] = int64(m.MaskID), 1, 1
	}
	batch.Params[0].TopP = 1
	s, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), s.P1...)
}

// Float16 is near float32, and not the same; bfloat16 is refused where no provider can compute with it. Statistics are float32 always.
func TestPrecisionIsMade(t *testing.T) {
	m, err := model.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	whole, half := p1(t, settings("model"), m, backend.Options{}), p1(t, settings("fp16"), m, backend.Options{})
	off := 0.0
	for i := range whole {
		off = max(off, float64(whole[i]-half[i]), float64(half[i]-whole[i]))
	}
	if off == 0 || off > 0.02 {
		t.Errorf("float16 is off by %g, want a little", off)
	}
	if diff := cmp.Diff(half, p1(t, settings("fp16"), m, backend.Options{Graph: m.ONNX})); diff != "" {
		t.Errorf("a graph in the model's place: %s", diff)
	}
	d, err := backend.Open(t.Context(), settings("bf16"), m, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	err = d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{P1: true}})
	if err == nil || !strings.Contains(err.Error(), "provider cpu has no kernel for the operator Gemm") || !strings.Contains(err.Error(), "runtime.precision") {
		t.Errorf("error %v", err)
	}
}

// A file of the precision is taken as it is, and one that cannot be had is explained.
func TestPrecisionIsFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../model/embedded/sudoku")); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := p1(t, settings("fp16"), m, backend.Options{})
	file := filepath.Join(dir, "onnx", "model_fp16.onnx")
	if err := os.WriteFile(file, m.ONNX, 0o644); err != nil { // of float32, to be told from what would be made
		t.Fatal(err)
	}
	found := p1(t, settings("fp16"), m, backend.Options{})
	if cmp.Equal(made, found) {
		t.Error("the file was not taken")
	}
	if diff := cmp.Diff(p1(t, settings("model"), m, backend.Options{}), found); diff != "" {
		t.Errorf("the file was changed: %s", diff)
	}
	none := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "none"}}
	_, err = backend.Open(t.Context(), settings("bf16"), m, backend.Options{Graph: none.Encode()})
	for _, want := range []string{"runtime.precision: bf16 of model ", "has no product", "onnx/model_bf16.onnx"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// The settings know the providers that the runtime knows.
func TestProvidersAreThose(t *testing.T) {
	if diff := cmp.Diff(onnx.Providers(), config.Providers(config.KindONNX)); diff != "" {
		t.Errorf("(-runtime +settings) %s", diff)
	}
}
