package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// config changes keys of a config.json; nil removes one.
func config(t testing.TB, dir string, changes map[string]any) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for k, v := range changes {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	if text, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "config.json", text)
}

// replace changes one tensor.
func replace(t testing.TB, dir, name string, with func(safetensors.Tensor) safetensors.Tensor) {
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		for i, x := range tensors {
			if x.Name == name {
				tensors[i] = with(x)
			}
		}
		return tensors
	})
}

// Whatever is wrong is said, all of it at once, and nothing is left of the import.
func TestFaults(t *testing.T) {
	const table = "bert.embeddings.word_embeddings.weight"
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  []string
	}{
		"unknown keys": {func(t *testing.T, dir string) {
			config(t, dir, map[string]any{"hiden_size": 3, "rope_scaling_of_mine": 1.5, "is_decoder": true, "hidden_act": "mish", "num_hidden_layers": "two"})
		}, []string{`hiden_size: is no key of model_type bert, the nearest is "hidden_size"`, "rope_scaling_of_mine: is no key", "is_decoder: is true, expected false",
			`hidden_act: is "mish", which has no rule`, `num_hidden_layers: is "two", expected an integer`}},
		"no rule": {func(t *testing.T, dir string) { config(t, dir, map[string]any{"model_type": "t5"}) }, []string{`model_type "t5" has no rule`, "modernbert", "Export the model to ONNX"}},
		"causal":  {func(t *testing.T, dir string) { config(t, dir, map[string]any{"model_type": "llama"}) }, []string{`model_type "llama" is a causal model`}},
		"quantized": {func(t *testing.T, dir string) {
			config(t, dir, map[string]any{"quantization_config": map[string]any{"bits": 4}})
		}, []string{"quantized weights have no rule"}},
		"no config": {func(t *testing.T, dir string) { remove(t, dir, "config.json") }, []string{"has no config.json"}},
		"no words":  {func(t *testing.T, dir string) { remove(t, dir, "tokenizer.json") }, []string{"has no tokenizer.json", "--tokenizer FILE"}},
		"vocab.txt": {func(t *testing.T, dir string) {
			remove(t, dir, "tokenizer.json")
			put(t, dir, "vocab.txt", []byte("a\n"))
		}, []string{"BertTokenizer"}},
		"spiece":     {func(t *testing.T, dir string) { remove(t, dir, "tokenizer.json"); put(t, dir, "spiece.model", nil) }, []string{"save_pretrained(DIR)"}},
		"no weights": {func(t *testing.T, dir string) { remove(t, dir, "model.safetensors"); put(t, dir, "tf_model.h5", nil) }, []string{"has no weights", "tf_model.h5"}},
		"truncated": {func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "model.safetensors", b[:len(b)/2])
		}, []string{"the file was cut off; copy it again"}},
		"pointer": {func(t *testing.T, dir string) {
			put(t, dir, "model.safetensors", []byte("version https://git-lfs.github.com/spec/v1\n"))
		}, []string{"git lfs pull"}},
		"hostile pickle": {func(t *testing.T, dir string) {
			remove(t, dir, "model.safetensors")
			b, err := os.ReadFile("torchfile/testdata/hostile.bin")
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "pytorch_model.bin", b)
		}, []string{`which no state dictionary needs, and which is not called here`}},
		"other config": {func(t *testing.T, dir string) {
			config(t, dir, map[string]any{"hidden_size": 64, "num_hidden_layers": 3})
		},
			[]string{`has shape [40 32], and by config.json it is [40 64]`, "and 43 more"}},
		"more layers": {func(t *testing.T, dir string) { config(t, dir, map[string]any{"num_hidden_layers": 1}) },
			[]string{`tensor "bert.encoder.layer.1.attention.self.query.weight" has no place: the network of config.json has no layers.1.attention.q.weight`}},
		"int8": {func(t *testing.T, dir string) {
			replace(t, dir, table, func(x safetensors.Tensor) safetensors.Tensor {
				return safetensors.Of(x.Name, x.Shape, make([]int8, x.Len()))
			})
		}, []string{`has elements I8: quantized weights have no rule`}},
		"fp8": {func(t *testing.T, dir string) {
			replace(t, dir, table, func(x safetensors.Tensor) safetensors.Tensor {
				return safetensors.Tensor{Name: x.Name, DType: safetensors.F8E4M3, Shape: x.Shape, Data: make([]byte, x.Len())}
			})
		}, []string{`has elements F8_E4M3: quantized weights have no rule`}},
		"not a number": {func(t *testing.T, dir string) {
			replace(t, dir, table, func(x safetensors.Tensor) safetensors.Tensor {
				v, err := x.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				v = append([]float32{}, v...)
				v[77] = float32(math.NaN())
				return safetensors.Of(x.Name, x.Shape, v)
			})
		}, []string{`tensor "embeddings.tokens": element 77 is infinite or not a number`}},
		"names": {func(t *testing.T, dir string) {
			replace(t, dir, table, func(x safetensors.Tensor) safetensors.Tensor {
				x.Name = "bert.embeddings.word_embedings.weight"
				return x
			})
		}, []string{`tensor "bert.embeddings.word_embedings.weight" is unknown to model_type bert, the nearest is "embeddings.word_embeddings.weight"`,
			`parameter embeddings.tokens is missing: expected a tensor "embeddings.word_embeddings.weight"`}},
		"no head": {func(t *testing.T, dir string) {
			rewritten(t, dir, func(tensors []safetensors.Tensor) (out []safetensors.Tensor) {
				for _, x := range tensors {
					if !strings.HasPrefix(x.Name, "cls.") {
						out = append(out, x)
					}
				}
				return out
			})
		}, []string{"there is no head for masked tokens (cls.predictions.*)"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, "bert")
			c.spoil(t, dir)
			out := filepath.Join(t.TempDir(), "out")
			_, err := importer.Import(t.Context(), dir, out, importer.Options{})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("found %v\nexpected %s", err, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*part")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func remove(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// split moves the tensors of a copied model into two shards and returns the index.
func split(t testing.TB, dir string) map[string]string {
	t.Helper()
	where := map[string]string{}
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		half := len(tensors) / 2
		for i, part := range [][]safetensors.Tensor{tensors[:half], tensors[half:]} {
			name := []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}[i]
			if err := safetensors.WriteFile(filepath.Join(dir, name), part, nil); err != nil {
				t.Fatal(err)
			}
			for _, x := range part {
				where[x.Name] = name
			}
		}
		return tensors
	})
	remove(t, dir, "model.safetensors")
	return where
}

func TestShards(t *testing.T) {
	const table, first, second = "bert.embeddings.word_embeddings.weight", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	whole, _ := imported(t, copied(t, "bert"))
	for name, c := range map[string]struct {
		spoil func(dir string, where map[string]string)
		want  string // "": it succeeds
	}{
		"in order": {func(string, map[string]string) {}, ""},
		"missing":  {func(dir string, _ map[string]string) { remove(t, dir, second) }, "no such file"},
		"elsewhere": {func(_ string, where map[string]string) {
			where[table] = map[string]string{first: second, second: first}[where[table]]
		}, "and by the index in"},
		"outside":   {func(_ string, where map[string]string) { where["x"] = "../x.safetensors" }, "expected files beside it"},
		"not there": {func(_ string, where map[string]string) { where["x"] = second }, `tensor "x" is not in model-00002`},
		"not named": {func(_ string, where map[string]string) { delete(where, table) }, "the index does not name it"},
		"doubled": {func(dir string, _ map[string]string) {
			b, err := os.ReadFile(filepath.Join(dir, first))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, second, b)
		}, "lies in model-00001-of-00002.safetensors and in model-00002-of-00002.safetensors"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, "bert")
			where := split(t, dir)
			c.spoil(dir, where)
			index, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": 1}, "weight_map": where})
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "model.safetensors.index.json", index)
			out := filepath.Join(t.TempDir(), "out")
			s, err := importer.Import(t.Context(), dir, out, importer.Options{})
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("found %v\nexpected %s", err, c.want)
				}
			case err != nil:
				t.Fatal(err)
			default:
				a, _ := os.ReadFile(filepath.Join(whole.Dir, "model.safetensors"))
				b, _ := os.ReadFile(filepath.Join(s.Dir, "model.safetensors"))
				if len(a) == 0 || !bytes.Equal(a, b) {
					t.Error("shards import to other weights than one file")
				}
			}
		})
	}
	dir := copied(t, "bert")
	split(t, dir)
	if _, err := importer.Import(t.Context(), dir, filepath.Join(t.TempDir(), "out"), importer.Options{}); err == nil || !strings.Contains(err.Error(), "no model.safetensors.index.json") {
		t.Errorf("shards without an index: %v", err)
	}
}

// The model that is read is never written over.
func TestOverItself(t *testing.T) {
	dir := copied(t, "bert")
	before, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = importer.Import(t.Context(), dir, dir+"/../source", importer.Options{})
	after, unread := os.ReadFile(filepath.Join(dir, "config.json"))
	if err == nil || !strings.Contains(err.Error(), "is the model that is read") || unread != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, %v", err, unread)
	}
}

// A disk that is full, or an interrupt, leaves the model that was there as it was, and nothing else.
func TestUntouched(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root: %v", err)
	}
	defer func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	}()
	out := filepath.Join(disk, "out")
	if _, err := importer.Import(t.Context(), copied(t, "albert"), out, importer.Options{}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(out, "mdm.json"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error, want error) {
		t.Helper()
		after, unread := os.ReadFile(filepath.Join(out, "mdm.json"))
		entries, _ := os.ReadDir(disk)
		if !errors.Is(err, want) || unread != nil || !bytes.Equal(before, after) || len(entries) != 1 {
			t.Errorf("%s: %v (%v); the disk holds %v", what, err, unread, entries)
		}
	}
	_, err = importer.Import(t.Context(), copied(t, "modernbert"), out, importer.Options{})
	check("full", err, unix.ENOSPC)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = importer.Import(ctx, copied(t, "bert"), out, importer.Options{})
	check("interrupted", err, context.Canceled)
}
