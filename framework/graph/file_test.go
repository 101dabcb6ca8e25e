package graph

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// weighty is a model with 8 KiB of weights in three tensors, one of them small.
func weighty(t *testing.T, seed float32) *Model {
	t.Helper()
	b := NewBuilder("big", 20)
	weights := make([]float32, 1024)
	for i := range weights {
		weights[i] = seed + float32(i)
	}
	x := b.Input("x", Float32, Named("B"), Known(32))
	w := b.Initializer(OfFloats("w", []int64{32, 32}, weights))
	v := b.Initializer(OfFloats("v", []int64{32, 32}, weights))
	bias := b.Initializer(OfFloats("bias", []int64{32}, weights[:32]))
	m, err := b.Model(Output{"y", b.Add(b.MatMul(b.MatMul(x, w), v), bias)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSaveOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	for i, c := range []struct {
		limit int64
		want  []string
	}{
		{FileData, []string{"model.onnx"}},
		{8000, []string{"model.onnx", "model.onnx.data"}},
		{8000, []string{"model.onnx", "model.onnx.1.data"}}, // the old data stays until the new model stands
		{8000, []string{"model.onnx", "model.onnx.data"}},
		{FileData, []string{"model.onnx"}},
	} {
		want := weighty(t, float32(i))
		if err := save(path, want, c.limit); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, listed(t, dir)); d != "" {
			t.Error(i, d)
		}
		got, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, unexported); d != "" {
			t.Error(i, d)
		}
	}
}

// TestExternalRuns has the runtime read what Save wrote.
func TestExternalRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	want := weighty(t, 1)
	if err := save(path, want, 0); err != nil {
		t.Fatal(err)
	}
	x := tensor(Float32, []int64{1, 32}, make([]float64, 32))
	x.Raw[3] = 0x3f // the first element is 0.5
	a, b := runModel(t, asWritten, want, x), runFile(t, path, want, x)
	if d := cmp.Diff(a, b, unexported); d != "" {
		t.Error(d)
	}
}

func TestSaveRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	if err := Save(path, weighty(t, 0)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := weighty(t, 1)
	wrong.Graph.Nodes[0].Op = "MatMull"
	outside := weighty(t, 1)
	outside.Graph.Initializers[0] = &Tensor{Name: "w", Type: Float32, Dims: []int64{32, 32}, External: []Entry{{"location", "w.bin"}}}
	for want, m := range map[string]*Model{"did you mean MatMul?": wrong, "graph.Open first": outside} {
		if err := Save(path, m); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) || len(listed(t, dir)) != 1 {
		t.Error("something was changed", err, listed(t, dir))
	}
	if err := Save(filepath.Join(dir, "none", "model.onnx"), weighty(t, 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := errors.Join(os.WriteFile(secret, make([]byte, 4096), 0o644), os.WriteFile(filepath.Join(dir, "short"), make([]byte, 4095), 0o644),
		os.WriteFile(filepath.Join(dir, "whole"), make([]byte, 4100), 0o644), os.Symlink(secret, filepath.Join(dir, "link")), os.Symlink("whole", filepath.Join(dir, "inner"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		entries []Entry
		want    string // "": it opens
	}{
		{"in the folder", []Entry{{"location", "whole"}}, ""},
		{"at an offset", []Entry{{"location", "whole"}, {"offset", "4"}, {"length", "4096"}}, ""},
		{"behind a link that stays", []Entry{{"location", "inner"}}, ""},
		{"above", []Entry{{"location", "../secret"}}, "expected a path inside the model's folder"},
		{"absolute", []Entry{{"location", secret}}, "expected a path inside the model's folder"},
		{"nowhere", []Entry{{"offset", "0"}}, "expected a path inside the model's folder"},
		{"behind a link that leaves", []Entry{{"location", "link"}}, "escapes"},
		{"missing", []Entry{{"location", "none"}}, "no such file"},
		{"a folder", []Entry{{"location", "folder"}}, "is no file"},
		{"truncated", []Entry{{"location", "short"}}, "truncated"},
		{"beyond the end", []Entry{{"location", "whole"}, {"offset", "9223372036854775807"}}, "truncated"},
		{"of another length", []Entry{{"location", "whole"}, {"length", "4095"}}, "expected 4096"},
		{"at no number", []Entry{{"location", "whole"}, {"offset", "-1"}}, "expected a number of bytes"},
	} {
		m := weighty(t, 0)
		m.Graph.Initializers[0] = &Tensor{Name: "w", Type: Float32, Dims: []int64{32, 32}, External: c.entries}
		path := filepath.Join(dir, "model.onnx")
		if err := os.WriteFile(path, m.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path)
		switch {
		case c.want == "" && (err != nil || m.Graph.Initializers[0].IsExternal() || len(m.Graph.Initializers[0].Raw) != 4096):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "w"`)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
