package train_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// exported takes a model to ONNX.
func exported(t *testing.T, from string, o exporters.Options) string {
	t.Helper()
	s, err := exporters.Open(t.Context(), from)
	must(t, err)
	out := filepath.Join(t.TempDir(), "export")
	o.Verify = exporters.VerifyOff
	_, err = exporters.Export(t.Context(), onnx.New(), s, o, out)
	must(t, err)
	return out
}

// TestStatisticsExports: what a head adds to an export is no hindrance to evaluations, scores and frozen denoisers, which are those of the source.
func TestStatisticsExports(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	_, err := run(t, context.Background(), small(t, first, "train.steps=1")...)
	must(t, err)
	source := filepath.Join(first, train.ModelDir)
	out := exported(t, source, exporters.Options{Head: exporters.HeadStatistics})
	rows := []string{"data.valid=" + puzzles(t, 20), "data.column=solution", "data.layout=padded", "data.length=8", "runtime.threads=1"}
	want, err := eval(t, train.EvalOptions{}, append(rows, "model="+source)...)
	must(t, err)
	got, err := eval(t, train.EvalOptions{}, append(rows, "model="+out)...)
	must(t, err)
	if a, b := got.Bound.NatsPerRow.Value, want.Bound.NatsPerRow.Value; !(math.Abs(a-b) < 1e-4) {
		t.Errorf("%v nats a row, the source's is %v", a, b)
	}
	const line = `{"text": "abcaabca"}`
	before, err := scores(t, train.ScoreOptions{Draws: 2}, line, "model="+source)
	must(t, err)
	after, err := scores(t, train.ScoreOptions{Draws: 2}, line, "model="+out)
	must(t, err)
	if a, b := after[0].Nats.Value, before[0].Nats.Value; !(math.Abs(a-b) < 1e-4) {
		t.Errorf("a score of %v, the source's is %v", a, b)
	}
	_, err = run(t, context.Background(), "train.run="+filepath.Join(t.TempDir(), "planner"), "train.from="+out, "trainer.name=p2planner", "data.train="+puzzles(t, 20), "data.column=solution",
		"data.layout=padded", "data.length=8", "network.hidden_size=16", "network.num_hidden_layers=1", "network.num_attention_heads=2", "train.steps=1", "train.batch=4", "runtime.threads=1")
	must(t, err)
}

// TestStatisticsOfRates: the rates of insertion models are kept beside the logits.
func TestStatisticsOfRates(t *testing.T) {
	out := exported(t, "molecule-insertion", exporters.Options{Head: exporters.HeadStatistics})
	const line = `{"text": "CCO"}`
	want, err := scores(t, train.ScoreOptions{Draws: 2}, line, "model=molecule-insertion")
	must(t, err)
	got, err := scores(t, train.ScoreOptions{Draws: 2}, line, "model="+out)
	must(t, err)
	if a, b := got[0].Nats.Value, want[0].Nats.Value; !(math.Abs(a-b) < 1e-4) {
		t.Errorf("a score of %v, the source's is %v", a, b)
	}
}

// TestFromExports: a run begins with an export to ONNX, whose file has the parameters; where it has not, the error says what has.
func TestFromExports(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	_, err := run(t, context.Background(), small(t, first, "train.steps=1")...)
	must(t, err)
	source := filepath.Join(first, train.ModelDir)
	c, want, err := network.Load(source)
	must(t, err)
	for precision, limit := range map[string]float64{exporters.FP32: 0, exporters.FP16Weights: 1e-3} {
		out := exported(t, source, exporters.Options{Precision: precision, Head: exporters.HeadStatistics})
		m, err := model.Open(out)
		must(t, err)
		own, got, err := network.From(m)
		must(t, err)
		if diff := cmp.Diff(c, own); diff != "" {
			t.Errorf("%s: the network (-source +export):\n%s", precision, diff)
		}
		for name, values := range want {
			for i, v := range values {
				if d := math.Abs(float64(got[name][i] - v)); !(d <= limit) {
					t.Fatalf("%s: %s[%d] is %v, the source's is %v", precision, name, i, got[name][i], v)
				}
			}
		}
		_, err = run(t, context.Background(), "train.run="+filepath.Join(t.TempDir(), "on"), "train.from="+out, "data.train="+puzzles(t, 20), "data.column=solution",
			"data.layout=padded", "data.length=8", "train.steps=1", "train.batch=4", "runtime.threads=1")
		must(t, err)
	}
	for _, precision := range []string{exporters.FP16, exporters.INT8} {
		out := exported(t, source, exporters.Options{Precision: precision})
		_, err = run(t, context.Background(), "train.run="+filepath.Join(t.TempDir(), "on"), "train.from="+out, "data.train="+puzzles(t, 20), "data.column=solution", "data.layout=padded", "data.length=8")
		wantError(t, err, "model "+out+": onnx/model.onnx is an export in precision "+precision, "take the model that it was made from", "--to safetensors")
	}
}
