package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goldens are small models of every family with the logits of their own classes: see golden.py there.
const goldens = "../network/family/testdata"

// words is a tokenizer of 38 tokens.
func words(t testing.TB) []byte {
	t.Helper()
	b := tokenizer.NewCharacters()
	if err := b.Add("abcdefghijklmnopqrstuvwxyz0123456789"); err != nil {
		t.Fatal(err)
	}
	file, err := b.File(false, false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// copied is a golden model with a tokenizer, in a folder that a test may change.
func copied(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(goldens, name))); err != nil {
		t.Fatal(err)
	}
	remove(t, dir, "expected.safetensors")
	put(t, dir, "tokenizer.json", words(t))
	return dir
}

func put(t testing.TB, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// imported imports a folder, which must succeed, and opens what was written.
func imported(t testing.TB, dir string) (*importer.Summary, *model.Model) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	s, err := importer.Import(t.Context(), dir, out, importer.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// Every family gives the logits of Hugging Face's own classes, through the whole of an import and ONNX Runtime.
func TestFamilies(t *testing.T) {
	for _, name := range []string{"bert", "albert", "albert-groups", "roberta", "modernbert", "modernbert-untied", "llada", "dream"} {
		t.Run(name, func(t *testing.T) {
			s, m := imported(t, copied(t, name))
			f, err := safetensors.Open(filepath.Join(goldens, name, "expected.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			ids, mask, want := view[int64](t, f, "input_ids"), view[int64](t, f, "attention_mask"), view[float32](t, f, "logits")
			got := logits(t, m, ids, mask, 3)
			worst := 0.0
			for i := range want {
				if mask[i/m.V] == 1 {
					worst = max(worst, math.Abs(float64(want[i]-got[i])))
				}
			}
			t.Logf("largest difference of a logit: %.3g", worst)
			if !(worst <= 1e-4) {
				t.Errorf("logits differ by %g, expected at most 1e-4", worst)
			}
			digest, err := m.Digest()
			if err != nil || digest != s.Digest || s.Precision != "F32" || s.Parameters == 0 {
				t.Errorf("digest %s, %v, and %+v", digest, err, s)
			}
			if checked, err := m.Verify(); err != nil || len(checked) != 3 {
				t.Errorf("verified %v: %v", checked, err)
			}
			if o := m.Manifest.Origin; o == nil || !slices.Equal(slices.Sorted(maps.Keys(o.Files)), []string{"config.json", "model.safetensors", "tokenizer.json"}) {
				t.Errorf("origin %+v", o)
			}
			if c, values, err := network.From(m); err != nil || len(values) != len(network.Params(c)) {
				t.Errorf("it does not train on: %v", err)
			}
		})
	}
}

func view[T safetensors.Element](t testing.TB, f *safetensors.File, name string) []T {
	t.Helper()
	x, err := f.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := safetensors.View[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// logits runs a model's file once.
func logits(t testing.TB, m *model.Model, ids, mask []int64, rows int) []float32 {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	dims := map[string]int64{}
	for _, v := range m.Graph.Graph.Inputs {
		dims[v.Shape[0].Name], dims[v.Shape[1].Name] = int64(rows), int64(len(ids)/rows)
	}
	p, err := d.NewProgram(t.Context(), onnx.Model{Name: "test", Data: m.ONNX, Dir: m.ONNXDir()}, onnx.ProgramOptions{Outputs: []string{"logits"}, Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]int64{"input_ids": ids, "attention_mask": mask} {
		to, err := feed.Int64(name)
		if err != nil || copy(to, v) != len(v) {
			t.Fatal(name, err)
		}
	}
	if err := p.Run(context.Background(), feed); err != nil {
		t.Fatal(err)
	}
	out, err := p.Output("logits")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out)
}

// rewritten changes the tensors of a copied model.
func rewritten(t testing.TB, dir string, change func([]safetensors.Tensor) []safetensors.Tensor) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	if err := safetensors.WriteFile(path, change(slices.Clone(f.Tensors())), map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
}

// Precisions are kept, mixed ones too, byte by byte.
func TestPrecision(t *testing.T) {
	dir := copied(t, "llada")
	var source []safetensors.Tensor
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		for i, x := range tensors {
			d := safetensors.BF16
			if len(x.Shape) < 2 {
				d = safetensors.F32
			} else if i%5 == 0 {
				d = safetensors.F16
			}
			var err error
			if tensors[i], err = x.To(d); err != nil {
				t.Fatal(err)
			}
		}
		source = tensors
		return tensors
	})
	s, m := imported(t, dir)
	if s.Precision != "BF16, F16, F32" {
		t.Errorf("precision %s", s.Precision)
	}
	f, err := safetensors.Open(filepath.Join(m.Dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	c, values, err := network.From(m)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := network.Export(c, values, network.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids, mask := []int64{4, 0, 9, 38, 0, 7}, []int64{1, 1, 1, 1, 1, 1}
	want, got := logits(t, &model.Model{ONNX: wide.Encode(), Graph: wide}, ids, mask, 2), logits(t, m, ids, mask, 2)
	for i := range want {
		if !(math.Abs(float64(want[i]-got[i])) <= 1e-5) {
			t.Fatalf("logit %d is %g, and of the same weights in float32 %g", i, got[i], want[i])
		}
	}
	left := map[string]int{}
	key := func(x safetensors.Tensor) string { return string(x.DType) + string(x.Data) }
	for _, x := range f.Tensors() {
		left[key(x)]++
	}
	for _, x := range source {
		left[key(x)]--
	}
	for _, n := range left {
		if n != 0 {
			t.Fatal("tensors are not those of the source, byte by byte")
		}
	}
}

// Old names, prefixes and what carries nothing make no difference; neither does the form of the file.
func TestSpellings(t *testing.T) {
	plain, _ := imported(t, copied(t, "bert"))
	dir := copied(t, "bert")
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		for i, x := range tensors {
			tensors[i].Name = oldName(x.Name)
			if x.Name == "bert.embeddings.word_embeddings.weight" {
				x.Name = "module.cls.predictions.decoder.weight"
				tensors = append(tensors, x)
			}
		}
		return append(tensors, safetensors.Of("module.bert.embeddings.position_ids", []int64{1, 24}, make([]int64, 24)),
			safetensors.Of("module.bert.pooler.dense.weight", []int64{32, 32}, make([]float32, 1024)), safetensors.Of("module.cls.seq_relationship.bias", []int64{2}, make([]float32, 2)))
	})
	old, _ := imported(t, dir)
	want := []string{"left out: buffers without parameters", "left out: the head for pairs of sentences", "left out: the head's own copy of the embedding, which it equals", "left out: the pooler, for classes of whole texts"}
	if diff := cmp.Diff(want, old.Notes); diff != "" {
		t.Error(diff)
	}
	read := func(s *importer.Summary) []byte {
		b, err := os.ReadFile(filepath.Join(s.Dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if !bytes.Equal(read(plain), read(old)) {
		t.Error("the weights differ")
	}
}

func oldName(name string) string {
	if stem, norm := cutNorm(name, ".weight"); norm {
		return "module." + stem + ".gamma"
	}
	if stem, norm := cutNorm(name, ".bias"); norm {
		return "module." + stem + ".beta"
	}
	return "module." + name
}

func cutNorm(name, end string) (string, bool) {
	stem, ok := bytes.CutSuffix([]byte(name), []byte(end))
	return string(stem), ok && bytes.HasSuffix(stem, []byte("LayerNorm"))
}

// The same tensors import to the same bytes from PyTorch's own file (testdata/bin.py), and from its shards.
func TestPyTorch(t *testing.T) {
	plain, _ := imported(t, copied(t, "albert"))
	want, err := os.ReadFile(filepath.Join(plain.Dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/albert.bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, sharded := range []bool{false, true} {
		dir := copied(t, "albert")
		where := map[string]string{}
		rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
			for _, x := range tensors {
				where[x.Name] = "pytorch_model-00001-of-00001.bin"
			}
			return tensors
		})
		remove(t, dir, "model.safetensors")
		name := "pytorch_model.bin"
		if sharded {
			index, err := json.Marshal(map[string]any{"weight_map": where})
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "pytorch_model.bin.index.json", index)
			name = "pytorch_model-00001-of-00001.bin"
		}
		put(t, dir, name, file)
		s, m := imported(t, dir)
		if got, err := os.ReadFile(filepath.Join(s.Dir, "model.safetensors")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("sharded %v: the weights differ (%v)", sharded, err)
		}
		if m.Manifest.Origin.Files[name] == "" {
			t.Errorf("origin %v", m.Manifest.Origin)
		}
	}
}

// A head that is stored and differs from the embedding stays a head of its own.
func TestUntied(t *testing.T) {
	dir := copied(t, "bert")
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		return append(tensors, safetensors.Of("cls.predictions.decoder.weight", []int64{40, 32}, slices.Repeat([]float32{0.5}, 40*32)))
	})
	s, m := imported(t, dir)
	c, values, err := network.From(m)
	if err != nil || c.Tied || values["head.weight"][7] != 0.5 || len(s.Notes) != 1 {
		t.Errorf("%v, tied %v, notes %q", err, c.Tied, s.Notes)
	}
}

// Of two biases of a head that is not tied, the decoder's counts, as in the classes, in whatever order they are stored; of a tied head they are one.
func TestBiasOfUntied(t *testing.T) {
	for name, at := range map[string][2]string{"bert": {"cls.predictions.", "cls.predictions.decoder."}, "albert": {"predictions.", "predictions.decoder."}, "roberta": {"lm_head.", "lm_head.decoder."}} {
		dir := copied(t, name)
		config(t, dir, map[string]any{"tie_word_embeddings": false})
		own := func(name string, value float32, shape ...int64) safetensors.Tensor {
			return safetensors.Of(name, shape, slices.Repeat([]float32{value}, int(safetensors.Tensor{Shape: shape}.Len())))
		}
		width := int64(32)
		if name == "albert" {
			width = 16
		}
		for _, last := range []bool{false, true} {
			rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
				tensors = slices.DeleteFunc(tensors, func(x safetensors.Tensor) bool { return strings.HasPrefix(x.Name, at[1]) || x.Name == at[0]+"bias" })
				first, second := own(at[0]+"bias", 1, 40), own(at[1]+"bias", 2, 40)
				if !last {
					first, second = second, first
				}
				return append(tensors, own(at[1]+"weight", 3, 40, width), first, second)
			})
			s, m := imported(t, dir)
			_, values, err := network.From(m)
			if err != nil || values["head.bias"][7] != 2 || !slices.Contains(s.Notes, "left out: "+at[0]+"bias, in whose place "+at[1]+"bias counts: the head is not tied") {
				t.Errorf("%s: %v, notes %q", name, err, s.Notes)
			}
		}
		config(t, dir, map[string]any{"tie_word_embeddings": true})
		rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
			return slices.DeleteFunc(tensors, func(x safetensors.Tensor) bool { return x.Name == at[1]+"weight" })
		})
		if _, err := importer.Import(t.Context(), dir, filepath.Join(t.TempDir(), "out"), importer.Options{}); err == nil || !strings.Contains(err.Error(), "are both head.bias, and differ") {
			t.Errorf("%s, tied: %v", name, err)
		}
	}
}
