package importer_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// exported is a model that comes along, as plain PyTorch has it: without an ONNX file.
func exported(t *testing.T, name string) string {
	t.Helper()
	s, err := exporters.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "source")
	if _, err := exporters.Export(t.Context(), pytorch.New(), s, exporters.Options{Verify: exporters.VerifyOff}, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What goes to PyTorch comes home: the same network and parameters, and what the model says of itself.
func TestHome(t *testing.T) {
	for _, name := range []string{"sudoku", "molecule-insertion"} {
		t.Run(name, func(t *testing.T) {
			dir := exported(t, name)
			// Keys and names as transformers and torch.compile write them.
			config(t, dir, map[string]any{"auto_map": map[string]any{"AutoModel": "modeling_mdm.X"}, "transformers_version": "5.23.0", "torch_dtype": "float32", "grid_of": nil})
			rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
				for i := range tensors {
					tensors[i].Name = "_orig_mod." + tensors[i].Name
				}
				return tensors
			})
			put(t, dir, "LICENSE", []byte("as you like"))
			s, m := imported(t, dir)
			source, err := model.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			wantConfig, want, err := network.Exported(source)
			if err != nil {
				t.Fatal(err)
			}
			gotConfig, got, err := network.Exported(m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantConfig, gotConfig) + cmp.Diff(want, got); diff != "" {
				t.Errorf("the network (-source +home):\n%s", diff)
			}
			if diff := cmp.Diff(source.Manifest, m.Manifest, cmpopts.IgnoreFields(model.Manifest{}, "Digests", "Origin")); diff != "" {
				t.Errorf("mdm.json (-source +home):\n%s", diff)
			}
			if !bytes.Equal(source.GenerationConfig, m.GenerationConfig) {
				t.Errorf("generation_config.json is %s", m.GenerationConfig)
			}
			if digest, err := m.Digest(); err != nil || digest != s.Digest || s.ModelType != network.ModelType || s.Notes != nil {
				t.Errorf("digest %s, %v, and %+v", digest, err, s)
			}
			if text, err := m.ReadFile("LICENSE"); err != nil || string(text) != "as you like" {
				t.Errorf("LICENSE: %q, %v", text, err)
			}
			if !slices.Equal(source.ONNX[:4], m.ONNX[:4]) || m.ONNXName != "model.onnx" {
				t.Errorf("its file is %s", m.ONNXName)
			}
		})
	}
}

// Order networks and schedules that were learned stay, and are left out where their tensors are not there.
func TestHomeWithMore(t *testing.T) {
	dir := exported(t, "stars")
	text, err := os.ReadFile(filepath.Join(dir, "mdm.json"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("{"), []byte(`{"networks": {"order": {"parameters": "model.safetensors", "prefix": "order."}},`), 1)
	put(t, dir, "mdm.json", text)
	s, m := imported(t, dir)
	if m.Manifest.Networks != nil || !strings.Contains(strings.Join(s.Notes, "\n"), `the network "order"`) {
		t.Errorf("networks %v, notes %q", m.Manifest.Networks, s.Notes)
	}
	rewritten(t, dir, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		return append(tensors, safetensors.Of("order.up.bias", []int64{2}, []float32{1, 2}), safetensors.Of("schedule.exponents", []int64{2}, []float32{3, 4}))
	})
	s, m = imported(t, dir)
	if m.Manifest.Networks["order"].Prefix != "order." || s.Notes != nil {
		t.Errorf("networks %v, notes %q", m.Manifest.Networks, s.Notes)
	}
	for prefix, want := range map[string]float32{network.OrderPrefix: 2, network.SchedulePrefix: 4} {
		extra, err := network.Extra(m, prefix)
		if err != nil || len(extra) != 1 {
			t.Fatalf("%s: %d tensors, %v", prefix, len(extra), err)
		}
		if v, err := extra[0].Float32s(); err != nil || v[1] != want {
			t.Errorf("%s: %v, %v", prefix, v, err)
		}
	}
}

// Without mdm.json an insertion model is one by its network, and a note says what was taken.
func TestHomeWithoutManifest(t *testing.T) {
	dir := exported(t, "stars")
	remove(t, dir, "mdm.json")
	remove(t, dir, "generation_config.json")
	s, m := imported(t, dir)
	if !m.Insertion() || m.Manifest.Gap != "eos" || *m.Manifest.Time.NoiseAt != 0 || len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], "there is no mdm.json") {
		t.Errorf("%+v, notes %q", m.Manifest, s.Notes)
	}
	if _, err := fs.Stat(os.DirFS(s.Dir), "generation_config.json"); err == nil {
		t.Error("settings of generation appeared")
	}
}

func TestHomeFaults(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string)
		want  []string
	}{
		"keys": {func(dir string) { config(t, dir, map[string]any{"hiden_size": 3, "is_decoder": true}) },
			[]string{`hiden_size: is no key of model_type mdm-transformer, the nearest is "hidden_size"`, "is_decoder: is true, expected false"}},
		"types":  {func(dir string) { config(t, dir, map[string]any{"hidden_size": "wide"}) }, []string{"config.json: hidden_size: is a string, expected a int"}},
		"sizes":  {func(dir string) { config(t, dir, map[string]any{"norm": "batch"}) }, []string{"norm: is", "batch"}},
		"schema": {func(dir string) { put(t, dir, "mdm.json", []byte(`{"famly": "masked"}`)) }, []string{`mdm.json: unknown key "famly"`}},
		"kind":   {func(dir string) { put(t, dir, "mdm.json", []byte(`{"family": "insertion"}`)) }, []string{`family is "insertion"`}},
		"speeds": {func(dir string) { put(t, dir, "mdm.json", []byte(`{"schedule": {"kind": "per_token"}}`)) }, []string{"schedule.exponents"}},
		"tensors": {func(dir string) {
			replace(t, dir, "layers.2.mlp.up.weight", func(x safetensors.Tensor) safetensors.Tensor { x.Name = "layers.2.mlp.upp.weight"; return x })
		}, []string{`tensor "layers.2.mlp.upp.weight" has no place`, "parameter layers.2.mlp.up.weight is missing"}},
	} {
		dir := exported(t, "sudoku")
		c.spoil(dir)
		_, err := importer.Import(t.Context(), dir, filepath.Join(t.TempDir(), "out"), importer.Options{})
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: found %v\nexpected %s", name, err, want)
			}
		}
	}
}
