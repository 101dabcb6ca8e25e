package openvino_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needOpenVINO skips a test where nothing names the library.
func needOpenVINO(t testing.TB) {
	t.Helper()
	if os.Getenv(openvino.LibraryVariable) == "" {
		t.Skip(openvino.LibraryVariable + " names no library, so nothing is run; scripts/test-exports.sh runs these tests")
	}
}

// open opens and configures a model, and closes it with the test.
func open(t testing.TB, m openvino.Model, o openvino.Options, h sampling.Head) *openvino.Denoiser {
	t.Helper()
	needOpenVINO(t)
	d, err := openvino.Open(t.Context(), m, o)
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

// embedded is a model of this program.
func embedded(t testing.TB, name string) (openvino.Model, *model.Model) {
	t.Helper()
	m, err := model.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return openvino.Model{Name: name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V}, m
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
		batch.Params[i].TopP, batch.Slots[i] = 1, int32(i)
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

func tensor(name string, typ graph.Type, dims ...graph.Dim) *graph.ValueInfo {
	return &graph.ValueInfo{Name: name, Type: typ, HasRank: true, Shape: dims}
}

var rowsAndLength = []graph.Dim{graph.Named("b"), graph.Named("l")}

// tableModel is a denoiser whose logits at position l are row l of table [L, V], whatever the tokens, which it does not read.
func tableModel(table []float32, v int, change ...func(*graph.Model)) openvino.Model {
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
	return openvino.Model{Name: "table", Data: m.Encode(), MaskID: 0, V: v}
}
