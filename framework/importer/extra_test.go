package importer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/exporters/transformers"
	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Learned speeds go abroad and come home, and model.safetensors, which is loaded strictly there, is the network's alone.
func TestHomeWithSpeeds(t *testing.T) {
	c := network.Config{VocabSize: 38, HiddenSize: 16, Layers: 1, Heads: 2, MaxPositions: 8, Time: "adaln"}.Filled()
	want := make([]float32, c.VocabSize)
	for i := range want {
		want[i] = 1 + float32(i)/8
	}
	source := filepath.Join(t.TempDir(), "source")
	manifest := &model.Manifest{Schedule: model.Schedule{Kind: "per_token"}}
	if err := network.WriteModelDir(source, network.ModelDir{Config: c, Values: network.Initialise(c, 1), Tokenizer: words(t), Manifest: manifest,
		Extra: []safetensors.Tensor{safetensors.Of(model.ExponentsTensor, []int64{int64(c.VocabSize)}, want)}}); err != nil {
		t.Fatal(err)
	}
	s, err := exporters.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []exporters.Target{pytorch.New(), transformers.New()} {
		dir := filepath.Join(t.TempDir(), "abroad")
		if _, err := exporters.Export(t.Context(), target, s, exporters.Options{Verify: exporters.VerifyOff}, dir); err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.Tensors()); n != len(network.Params(c)) {
			t.Errorf("%s: model.safetensors has %d tensors, the network %d parameters", target.Info().Name, n, len(network.Params(c)))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		_, m := imported(t, dir)
		if got, err := m.Exponents(); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: speeds %v, %v", target.Info().Name, got, err)
		}
		for name, fault := range map[string]string{"head.other": "expected names that begin with", "embeddings.tokens": "expected names that begin with"} {
			if err := safetensors.WriteFile(filepath.Join(dir, network.ExtraName), []safetensors.Tensor{safetensors.Of(name, []int64{1}, []float32{1})}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := importer.Import(t.Context(), dir, filepath.Join(t.TempDir(), "out"), importer.Options{}); err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: %v, expected %s", name, err, fault)
			}
		}
	}
}
