package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
)

// TestTargetsAreNotSuppressed: what a model must not write when it samples is a target all the same, in the run that says so, in one
// that begins with its model, and in evaluations. The finished model suppresses it together with what no run teaches.
func TestTargetsAreNotSuppressed(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	settings := small(t, first, "data.bos=true", "data.eos=true", "data.length=10", "data.layout=packed", "data.fixed_column=", "data.blank=", "train.steps=20", "sampling.suppress_tokens=[0, 1]")
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	m, err := model.Open(filepath.Join(first, train.ModelDir))
	must(t, err)
	a, _ := m.Tokenizer.ID("a")
	if a > 1 {
		t.Fatalf("the letter a is token %d, and 0 and 1 are to be letters", a)
	}
	if diff := cmp.Diff([]any{0.0, 1.0, float64(m.Config.Pad)}, m.Generation["sampling"].(map[string]any)["suppress_tokens"]); diff != "" {
		t.Errorf("suppress_tokens of the finished model: %s", diff)
	}
	settings[0] = "train.run=" + second
	_, err = run(t, context.Background(), append(settings, "train.from="+m.Dir)...)
	must(t, err)
	for _, dir := range []string{first, second} {
		if begin, end := losses(t, dir); !(begin < 4 && end < 4) {
			t.Errorf("%s: %.3f bits per token at first, %.3f at last; expected less than 4", dir, begin, end)
		}
	}
}
