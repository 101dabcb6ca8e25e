package onnx_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func tensor(name string, typ graph.Type, dims ...graph.Dim) *graph.ValueInfo {
	return &graph.ValueInfo{Name: name, Type: typ, HasRank: true, Shape: dims}
}

var rowsAndLength = []graph.Dim{graph.Named("b"), graph.Named("l")}

// tableModel is a denoiser whose logits at position l are row l of table [L, V], whatever the tokens.
func tableModel(table []float32, v int, change ...func(*graph.Model)) []byte {
	m := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name:         "table",
		Nodes:        []*graph.Node{{Op: "Gather", Inputs: []string{"table", "position_ids"}, Outputs: []string{"logits"}}},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{int64(len(table) / v), int64(v)}, table)},
		Inputs:       []*graph.ValueInfo{tensor("input_ids", graph.Int64, rowsAndLength...), tensor("position_ids", graph.Int64, rowsAndLength...)},
		Outputs:      []*graph.ValueInfo{tensor("logits", graph.Float32, append(rowsAndLength[:2:2], graph.Known(int64(v)))...)},
	}}
	for _, c := range change {
		c(m)
	}
	return m.Encode()
}

// embedModel maps tokens to logits through a matrix: Gather [T, D], then MatMul [D, V]. Its cost is that of a last layer.
func embedModel(tokens, d, v int, change ...func(*graph.Model)) []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	normal := func(n int, scale float64) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rng.NormFloat64() * scale)
		}
		return out
	}
	m := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name: "embed",
		Nodes: []*graph.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"h"}},
			{Op: "MatMul", Inputs: []string{"h", "w"}, Outputs: []string{"logits"}}},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{int64(tokens), int64(d)}, normal(tokens*d, 1)),
			graph.OfFloats("w", []int64{int64(d), int64(v)}, normal(d*v, 3/math.Sqrt(float64(d))))},
		Inputs:  []*graph.ValueInfo{tensor("input_ids", graph.Int64, rowsAndLength...)},
		Outputs: []*graph.ValueInfo{tensor("logits", graph.Float32, append(rowsAndLength[:2:2], graph.Known(int64(v)))...)},
	}}
	for _, c := range change {
		c(m)
	}
	return m.Encode()
}

// open opens and configures a model, and closes it with the test.
func open(t testing.TB, m onnx.Model, o onnx.Options, h sampling.Head) *onnx.Denoiser {
	t.Helper()
	d, err := onnx.Open(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Configure(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return d
}

// batchOf returns a batch of d, every position real and active.
func batchOf(t testing.TB, d sampling.Denoiser, b, l int) *sampling.Batch {
	t.Helper()
	batch, err := d.Batch(b, l)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch.Tokens {
		batch.Attention[i], batch.Active[i] = 1, 1
	}
	for i := range batch.Params {
		batch.Params[i].TopP = 1
	}
	return batch
}

func runOf(t testing.TB, d sampling.Denoiser) *sampling.Statistics {
	t.Helper()
	st, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func realModel(name string) onnx.Model {
	return onnx.Model{Name: name, Path: filepath.Join("../../../shared/models", name, "onnx/model.onnx"), MaskID: 14, PadID: 0, V: 591}
}
