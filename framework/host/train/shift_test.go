package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// shifted writes the directory of a model of four letters whose logits at position i are row i of table [4, 5], for the letter at
// i+1, whatever the tokens are. Letters are a, b, c; the mask is 3.
func shifted(t *testing.T, table []float32) string {
	t.Helper()
	size := graph.Dims("B", "L")
	m := graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 20}}, Graph: &graph.Graph{
		Nodes:        []*graph.Node{{Op: "Gather", Inputs: []string{"table", "position_ids"}, Outputs: []string{"logits"}}},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{4, 5}, table)},
		Inputs: []*graph.ValueInfo{{Name: "input_ids", Type: graph.Int64, HasRank: true, Shape: size},
			{Name: "position_ids", Type: graph.Int64, HasRank: true, Shape: size}},
		Outputs: []*graph.ValueInfo{{Name: "logits", Type: graph.Float32, HasRank: true, Shape: graph.Dims("B", "L", 5)}},
	}}
	dir := filepath.Join(t.TempDir(), "shifted")
	must(t, os.MkdirAll(filepath.Join(dir, "onnx"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "onnx", "model.onnx"), m.Encode(), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "mdm.json"), []byte(`{"logits_shift": 1}`), 0o600))
	for _, name := range []string{"config.json", "tokenizer.json"} {
		text, err := os.ReadFile(filepath.Join("..", "testdata", "joint-l4v3", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

// TestShiftedLogits: sampling and evaluation take the logits of right-shifted models to where their letters are; training, which
// does not, says so.
func TestShiftedLogits(t *testing.T) {
	table := []float32{2, 0, 1, 9, 9, 0, 0, 3, 9, 9, -1, 4, 0, 9, 9, 7, 0, 0, 9, 9} // of the last row nothing may be seen
	dir := shifted(t, table)
	logp := func(i int, letter byte) float64 { // of the letter at position i
		row := table[5*max(i-1, 0):][:3]
		sum := 0.0
		for _, x := range row {
			sum += math.Exp(float64(x))
		}
		return float64(row[letter-'a']) - math.Log(sum)
	}

	cfg, err := load("model="+dir, "planner.name=confidence", "sampling.temperature=0", "sampling.suppress_tokens=[4]", "runtime.threads=1")
	must(t, err)
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	must(t, err)
	rows := 0
	_, err = h.Sample(t.Context(), 1, func() (sampling.Request, bool) {
		rows++
		return sampling.Request{Tokens: []int32{3, 3, 3, 3}, Params: sampling.Params{TopP: 1}}, rows == 1
	}, func(r sampling.Result) error {
		if want := []int32{0, 0, 2, 1}; !slices.Equal(r.Tokens, want) {
			t.Errorf("sampled %v, want %v", r.Tokens, want)
		}
		return r.Err
	})
	must(t, err)
	must(t, h.Close())

	j := toy{dir: dir}
	want := 0.0
	for i, letter := range []byte("abca") {
		want -= logp(i, letter)
	}
	r, err := eval(t, train.EvalOptions{Exact: true}, j.lines(t, "text", []string{"abca"})...)
	must(t, err)
	if got := r.Exact.Bound.NatsPerRow.Value; math.Abs(got-want) > 1e-5 {
		t.Errorf("%v nats a row, want %v", got, want)
	}

	settings := append(j.lines(t, "text", []string{"abca"}), "train.from="+dir, "train.run="+filepath.Join(t.TempDir(), "run"), "train.steps=1", "data.length=4")
	for i, s := range settings {
		if file, ok := strings.CutPrefix(s, "data.valid="); ok {
			settings[i] = "data.train=" + file
		}
	}
	_, err = run(t, context.Background(), settings...)
	wantError(t, err, "logits_shift", "training does not")
}
