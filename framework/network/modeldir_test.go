package network_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
)

// letters is a tokenizer of 26 letters and a space, with [PAD] and [MASK].
func letters(t testing.TB) []byte {
	t.Helper()
	b := tokenizer.NewCharacters()
	if err := b.Add("abcdefghijklmnopqrstuvwxyz "); err != nil {
		t.Fatal(err)
	}
	file, err := b.File(false, false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func textModel(t testing.TB, c network.Config) network.ModelDir {
	c.VocabSize, c.HiddenSize, c.Layers, c.Heads, c.MaxPositions = 29, 32, 2, 4, 24
	c = valid(t, c)
	return network.ModelDir{Config: c, Values: formula(c), Tokenizer: letters(t)}
}

func TestModelDir(t *testing.T) {
	for name, c := range map[string]network.Config{"plain": {Bias: true}, "timed": {Time: "adaln", Norm: "rms", Activation: "swiglu", Tied: true}} {
		t.Run(name, func(t *testing.T) {
			d := textModel(t, c)
			d.Generation = map[string]any{"planner": map[string]any{"name": "confidence"}}
			d.Manifest = &model.Manifest{Schedule: model.Schedule{Kind: "cosine"}, Length: model.Length{Cap: 20}, Trainer: &model.Trainer{Name: "md4", Steps: 3}}
			d.Files = map[string][]byte{"LICENSE": []byte("free\n")}
			dir := filepath.Join(t.TempDir(), "new", "mine")
			if err := network.WriteModelDir(dir, d); err != nil {
				t.Fatal(err)
			}
			m, err := model.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if m.MaskID != 28 || m.PadID != 27 || m.V != 29 || m.MaxLength != 20 || !m.AttentionMask || m.Timesteps != d.Config.Timed() ||
				m.Manifest.Schedule.Kind != "cosine" || m.Manifest.Trainer.Steps != 3 || *m.Manifest.Time.NoiseAt != 1 || m.Generation["planner"] == nil {
				t.Errorf("%+v %+v", m, m.Manifest)
			}
			if names, err := m.Verify(); err != nil || len(names) != 3 {
				t.Error(names, err)
			}
			r := random(d.Config, 2, 9)
			r.mask = slices.Repeat([]int64{1}, 18)
			got := run(t, m.Graph, r, map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask}, map[string][]float32{"timesteps": r.times})
			near(t, "the exported model", logits(t, d.Config, d.Values, r), got, 2e-6)

			back, values, err := network.Load(dir)
			if diff := cmp.Diff(d.Config, back) + cmp.Diff(d.Values, values); diff != "" || err != nil {
				t.Error(diff, err)
			}
			leftovers, err := filepath.Glob(filepath.Join(dir, "..", ".*"))
			if len(leftovers) > 0 || err != nil {
				t.Error(leftovers, err)
			}
		})
	}
}

// TestExtraTensors writes tensors beside the network's own and reads both back.
func TestExtraTensors(t *testing.T) {
	d := textModel(t, network.Config{})
	speeds := safetensors.Of("schedule.exponents", []int64{3}, []float32{1, 2.5, 0.25})
	order := safetensors.Of("order.head.weight", []int64{1, 2}, []float32{3, 4})
	d.Extra = []safetensors.Tensor{speeds, order}
	dir := filepath.Join(t.TempDir(), "mine")
	if err := network.WriteModelDir(dir, d); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]safetensors.Tensor{network.SchedulePrefix: {speeds}, "order.": {order}, "order.other": nil, "layers.": nil} {
		got, err := network.Extra(m, prefix)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Error(prefix, diff, err)
		}
	}
	if _, values, err := network.From(m); err != nil || cmp.Diff(d.Values, values) != "" {
		t.Error("the network's own parameters are others", err)
	}
	d.Extra[0].Name = "exponents"
	if err := network.WriteModelDir(dir, d); err == nil || !strings.Contains(err.Error(), `tensor "exponents": is beside the network's parameters; expected a name that begins with "order." or "schedule."`) {
		t.Error(err)
	}
}

func TestHalfPrecision(t *testing.T) {
	d := textModel(t, network.Config{})
	full := filepath.Join(t.TempDir(), "full")
	half := filepath.Join(t.TempDir(), "half")
	if err := network.WriteModelDir(full, d); err != nil {
		t.Fatal(err)
	}
	d.Export.Precision, d.DType = network.Float16, safetensors.F16
	if err := network.WriteModelDir(half, d); err != nil {
		t.Fatal(err)
	}
	r := random(d.Config, 3, 20)
	r.mask = slices.Repeat([]int64{1}, 60)
	var out [2][]float32
	var size [2]int
	for i, dir := range []string{full, half} {
		m, err := model.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		size[i] = len(m.ONNX)
		out[i] = run(t, m.Graph, r, map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask}, nil)
	}
	if float64(size[1]) > 0.62*float64(size[0]) { // the graph and the rotary tables stay
		t.Errorf("%d bytes of %d", size[1], size[0])
	}
	near(t, "float16", out[0], out[1], 5e-3)
	for i := range r.ids {
		a, b := out[0][i*29:(i+1)*29], out[1][i*29:(i+1)*29]
		if slices.Index(a, slices.Max(a)) != slices.Index(b, slices.Max(b)) {
			t.Error("another token at position", i)
		}
	}
	_, values, err := network.Load(half)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range values {
		near(t, name, d.Values[name], v, 1e-3)
	}
	d.Values["head.weight"][5] = 1e6
	mustSay(t, network.WriteModelDir(half, d), `tensor "head.weight": element 5 is 1e+06, too large for F16`)
}

// What is there is replaced as a whole, and only if nothing else is lost.
func TestReplacing(t *testing.T) {
	d := textModel(t, network.Config{})
	dir := filepath.Join(t.TempDir(), "mine")
	d.Generation = map[string]any{"n": 1}
	if err := network.WriteModelDir(dir, d); err != nil {
		t.Fatal(err)
	}
	d.Values["norm.weight"][0] = 42
	if err := network.WriteModelDir(dir, d); err != nil {
		t.Fatal(err)
	}
	if _, v, err := network.Load(dir); err != nil || v["norm.weight"][0] != 42 {
		t.Fatal(err)
	}
	before := listing(t, filepath.Dir(dir))
	note := filepath.Join(dir, "onnx", "notes.txt")
	if err := os.WriteFile(note, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustSay(t, network.WriteModelDir(dir, d), "holds onnx/notes.txt, which the new one does not have; nothing was changed")
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	less := d
	less.Generation = nil
	mustSay(t, network.WriteModelDir(dir, less), "holds generation_config.json")
	mustSay(t, network.WriteModelDir(filepath.Join(dir, "config.json"), d), "is a file")
	broken := d
	broken.Manifest = &model.Manifest{Schedule: model.Schedule{Kind: "sine"}} // found when the new directory is opened
	mustSay(t, network.WriteModelDir(dir, broken), "schedule")
	if diff := cmp.Diff(before, listing(t, filepath.Dir(dir))); diff != "" {
		t.Error("something changed:", diff)
	}
}

// listing is every file with its digest.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBadModelDirs(t *testing.T) {
	for want, change := range map[string]func(*network.ModelDir){
		`parameter "norm.weight": is missing`:                 func(d *network.ModelDir) { delete(d.Values, "norm.weight") },
		`parameters ["extra"]: are none of this network`:      func(d *network.ModelDir) { d.Values["extra"] = nil },
		`parameter "norm.weight": has 3 numbers, expected 32`: func(d *network.ModelDir) { d.Values["norm.weight"] = make([]float32, 3) },
		"element 0 is NaN": func(d *network.ModelDir) {
			d.Values["norm.weight"][0] = float32(math.NaN())
		},
		"precision is \"int4\"": func(d *network.ModelDir) { d.Export.Precision = "int4" },
		"opset 12":              func(d *network.ModelDir) { d.Export.Opset = 12 },
		"elements I64, expected F32, F16 or BF16":        func(d *network.ModelDir) { d.DType = safetensors.I64 },
		"vocab_size: is 0":                               func(d *network.ModelDir) { d.Config.VocabSize = 0 },
		"tokenizer.json":                                 func(d *network.ModelDir) { d.Tokenizer = []byte("{}") },
		"do not belong together":                         func(d *network.ModelDir) { d.Config.VocabSize = 20; d.Values = formula(d.Config) },
		`file "../x": expected the clean path of a file`: func(d *network.ModelDir) { d.Files = map[string][]byte{"../x": nil} },
		`file "config.json": expected`:                   func(d *network.ModelDir) { d.Files = map[string][]byte{"config.json": nil} },
	} {
		d := textModel(t, network.Config{})
		change(&d)
		dir := filepath.Join(t.TempDir(), "bad")
		mustSay(t, network.WriteModelDir(dir, d), want, dir)
		if l := listing(t, filepath.Dir(dir)); len(l) > 0 {
			t.Error(want, "left", slices.Collect(maps.Keys(l)))
		}
	}
}

func TestLoadNamesWhatDoesNotFit(t *testing.T) {
	d := textModel(t, network.Config{})
	dir := filepath.Join(t.TempDir(), "mine")
	if err := network.WriteModelDir(dir, d); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "model.safetensors")
	err := safetensors.WriteFile(file, []safetensors.Tensor{
		safetensors.Of("norm.weight", []int64{2}, []float32{1, 2}), safetensors.Of("other", []int64{1}, []float32{1})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = network.Load(dir)
	mustSay(t, err, file, `tensor "embeddings.tokens" is missing, expected shape [29 32]`, `tensor "norm.weight" has shape [2], expected [32]`, `tensor "other" is unexpected`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, _, err = network.Load(dir)
	mustSay(t, err, "model.safetensors", "training on needs the parameters")
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type": "bert"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = network.Load(dir)
	mustSay(t, err, `model_type is "bert", expected "mdm-transformer"`)
}

// Exports of all opsets say what they use and nothing else.
func TestExportOpsets(t *testing.T) {
	d := textModel(t, network.Config{Norm: "rms", Activation: "swiglu"})
	for _, opset := range []int64{17, 20, 23} {
		m, err := network.Export(d.Config, d.Values, network.ExportOptions{Opset: opset})
		if err != nil {
			t.Fatal(err)
		}
		if m.Opset("") != opset || len(m.Functions) != 1 {
			t.Error(opset, m.Opsets, len(m.Functions))
		}
		for _, v := range append(m.Graph.Inputs, m.Graph.Outputs...) {
			if d := cmp.Diff(graph.Dims("B", "L"), v.Shape[:2]); d != "" {
				t.Error(v.Name, d)
			}
		}
	}
}
