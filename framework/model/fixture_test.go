package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// fixture is a model directory in the making: five characters, a mask "_" and a padding, one weight.
type fixture struct {
	files map[string]string
	graph *graph.Model
}

const characters = `{"version": "1.0", "added_tokens": [
  {"id": 5, "content": "_", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
  {"id": 6, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
 "normalizer": null, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
 "post_processor": null, "decoder": {"type": "Fuse"},
 "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2, "1": 3, "?": 4, "_": 5, "[PAD]": 6}, "unk_token": "?"}}`

func value(name string, t graph.Type, dims ...graph.Dim) *graph.ValueInfo {
	return &graph.ValueInfo{Name: name, Type: t, Shape: dims, HasRank: true}
}

var batch, length = graph.Named("batch"), graph.Named("length")

func newFixture() *fixture {
	return &fixture{
		files: map[string]string{
			"config.json":    `{"model_type": "toy", "vocab_size": 7, "mask_token_id": 5, "pad_token_id": 6, "max_position_embeddings": 8}`,
			"tokenizer.json": characters,
		},
		graph: &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
			Name:         "toy",
			Nodes:        []*graph.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"logits"}}},
			Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{7, 7}, make([]float32, 49))},
			Inputs:       []*graph.ValueInfo{value("input_ids", graph.Int64, batch, length)},
			Outputs:      []*graph.ValueInfo{value("logits", graph.Float32, batch, length, graph.Known(7))},
		}},
	}
}

// with adds or replaces a file; no content removes it.
func (f *fixture) with(name, content string) *fixture {
	if f.files[name] = content; content == "" {
		delete(f.files, name)
	}
	return f
}

// input adds an input to the graph.
func (f *fixture) input(v *graph.ValueInfo) *fixture {
	f.graph.Graph.Inputs = append(f.graph.Graph.Inputs, v)
	return f
}

// write makes the directory.
func (f *fixture) write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toy")
	if _, given := f.files["onnx/model.onnx"]; !given && f.graph != nil {
		f.files["onnx/model.onnx"] = string(f.graph.Encode())
	}
	if err := os.MkdirAll(filepath.Join(dir, "onnx"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range f.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (f *fixture) open(t *testing.T) *model.Model {
	t.Helper()
	m, err := model.Open(f.write(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mustFail checks that the error says all of the words.
func mustFail(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
