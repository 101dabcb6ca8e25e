package train_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// TestFromLinked: a run goes on from a model like ALBERT whose parameters are bfloat16 and linked, says in what precision it writes them, and writes
// a model of the same kind.
func TestFromLinked(t *testing.T) {
	home := t.TempDir()
	first := filepath.Join(home, "first")
	_, err := run(t, context.Background(), small(t, first, "train.steps=1")...)
	must(t, err)
	parent, err := model.Open(filepath.Join(first, train.ModelDir))
	must(t, err)
	tokens, err := parent.ReadFile("tokenizer.json")
	must(t, err)
	c := network.Config{VocabSize: parent.V, HiddenSize: 16, Layers: 3, Heads: 2, MaxPositions: 12, Positions: "learned", Bias: true, Tied: true, Activation: "gelu_tanh", PostNorm: true,
		EmbeddingNorm: true, EmbeddingSize: 8, TypeVocab: 2, Groups: 1, HeadTransform: true, HeadBias: true}.Filled()
	must(t, c.Validate())
	linked := filepath.Join(home, "linked")
	must(t, network.WriteModelDir(linked, network.ModelDir{Config: c, Values: network.Initialise(c, 5), Tokenizer: tokens, Linked: true, DType: safetensors.BF16}))
	second := filepath.Join(home, "second")
	out, err := run(t, context.Background(), "train.run="+second, "train.from="+linked, "data.train="+puzzles(t, 81), "data.column=solution", "data.layout=padded", "data.length=8",
		"train.steps=3", "train.batch=8", "runtime.threads=2", "seed=3", "trainer.name=md4")
	must(t, err)
	if note := "the parameters of " + linked + " are bfloat16; they are trained in float32, and the new model has train.precision, float32"; !strings.Contains(out, note) {
		t.Errorf("%q does not say %q", out, note)
	}
	m, err := model.Open(filepath.Join(second, train.ModelDir))
	must(t, err)
	if got := m.Graph.External(); !slices.Equal(got, []string{"model.safetensors"}) || m.Config.Raw["dtype"] != "float32" {
		t.Errorf("data in %q, dtype %v", got, m.Config.Raw["dtype"])
	}
	_, before, err := network.Load(linked)
	must(t, err)
	written, after, err := network.From(m)
	must(t, err)
	if d := cmp.Diff(c, written); d != "" {
		t.Error("config.json:", d)
	}
	for name, v := range after {
		if slices.Equal(v, before[name]) && name != "layers.0.attention.k.bias" { // of which softmax takes nothing
			t.Error(name, "did not change")
		}
	}
}
