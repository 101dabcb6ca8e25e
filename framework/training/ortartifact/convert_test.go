package ortartifact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/training/ortartifact"
)

// folder lays files of testdata out as the generator does: name -> testdata file.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range files {
		b, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A converted folder alone gives PyTorch's loss: the graph and the parameters that were written, read back.
func TestConvert(t *testing.T) {
	var g artifacts
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	out := filepath.Join(t.TempDir(), "new", "adapted")
	layout, paths, err := ortartifact.Convert(folder(t, map[string]string{"training_model.onnx": "gelu.training.onnx", "eval_model.onnx": "gelu.eval.onnx", "checkpoint": "gelu.checkpoint"}), out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(out, "training_model.onnx"), filepath.Join(out, "eval_model.onnx"), filepath.Join(out, "parameters.safetensors")}
	if d := cmp.Diff(want, paths); d != "" {
		t.Fatal(d)
	}
	m, err := graph.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Open(paths[2])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	feeds := map[string]array{layout.Reset: {Data: []float64{1}}}
	for n, v := range map[string][]float64{"input_ids": g.InputIDs, "targets": g.Targets, "weights": g.Weights} {
		feeds[n] = array{Data: v, Dims: []int64{g.Rows, g.Length}}
	}
	for _, p := range layout.Parameters {
		tensor, err := file.Tensor(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		values, err := tensor.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		feeds[p.Name] = array{Data: doubles(values)}
		feeds[p.Buffer] = array{Data: make([]float64, len(values))}
	}
	got := run(t, m, feeds, layout.Loss)
	if e := distance(t, []float64{g.Models["gelu"].Loss}, got[layout.Loss]); !(e < 1e-5) {
		t.Errorf("the loss is %g, want %g", got[layout.Loss], g.Models["gelu"].Loss)
	}
}

func TestConvertRefusals(t *testing.T) {
	whole := map[string]string{"training_model.onnx": "gelu.training.onnx", "checkpoint": "gelu.checkpoint"}
	for _, c := range []struct {
		name  string
		files map[string]string
		text  string
	}{
		{"no training model", map[string]string{"checkpoint": "gelu.checkpoint"}, "expected what onnxruntime.training.artifacts.generate_artifacts wrote"},
		{"no checkpoint", map[string]string{"training_model.onnx": "gelu.training.onnx"}, "checkpoint: no such file"},
		{"checkpoint of another model", map[string]string{"training_model.onnx": "swiglu.training.onnx", "checkpoint": "gelu.checkpoint"}, "lacks the parameter"},
		{"no checkpoint file", map[string]string{"training_model.onnx": "gelu.training.onnx", "checkpoint": "golden.json.gz"}, "no identifier ODTC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			_, _, err := ortartifact.Convert(folder(t, c.files), out)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, expected %q", err, c.text)
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Error("something was written")
			}
		})
	}
	dir := folder(t, whole)
	if _, _, err := ortartifact.Convert(dir, dir); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("the same folder: %v", err)
	}
}
