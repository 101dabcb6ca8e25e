package train_test

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// losses are the first and the last training figures of a run, in bits per token.
func losses(t *testing.T, dir string) (first, last float64) {
	t.Helper()
	lines, err := record.Read(filepath.Join(dir, "metrics.jsonl"))
	must(t, err)
	first = math.NaN()
	for _, l := range lines {
		if l.Kind == record.Train {
			if math.IsNaN(first) {
				first = l.BitsPerToken
			}
			last = l.BitsPerToken
		}
	}
	return first, last
}

// TestEveryTrainerLearns trains with each first-party trainer in its forms, and with somebody's binary. Beside what is given, a row
// holds 3 of 3 symbols, twice: 3 log2(3) / 7 = 0.68 bits per free position are the least. Independent positions need 1.58.
func TestEveryTrainerLearns(t *testing.T) {
	focal := filepath.Join(t.TempDir(), "focal-trainer")
	build := exec.Command("go", "build", "-o", focal, ".")
	build.Dir = filepath.Join("..", "..", "..", "plugins", "examples", "focal-trainer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, more := range map[string][]string{
		"md4":             nil,
		"md4 count":       {"trainer.estimator=count"},
		"md4 cosine T 16": {"trainer.schedule=cosine", "trainer.t=16", "trainer.times=stratified"},
		"md4 with time":   {"network.time=adaln"},
		"papl":            {"trainer.name=papl"},
		"papl pelbo":      {"trainer.name=papl", "trainer.form=pelbo", "trainer.tau=0.5", "trainer.alpha_warmup=0.5"},
		"papl open_dllm":  {"trainer.name=papl", "trainer.form=open_dllm"},
		"focal":           {"trainer.name=" + focal, "trainer.gamma=1"},
		"no kernels":      {"train.kernels=false"},
		"recompute":       {"train.recompute=true", "network.activation=swiglu", "network.norm=rms"},
		"no average":      {"optimizer.ema=0", "optimizer.schedule=linear"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			_, err := run(t, context.Background(), small(t, dir, append([]string{"train.steps=400", "train.checkpoint_every=400", "train.eval_every=0", "optimizer.lr=0.005", "network.positions=learned", "network.hidden_size=32",
				"train.batch=32", "train.log_every=10"}, more...)...)...)
			must(t, err)
			first, last := losses(t, dir)
			if !(last < 0.75 && first > 1.5) {
				t.Errorf("%.3f bits per token at first, %.3f at last; expected more than 1.5 and less than 0.75", first, last)
			}
			m, err := model.Open(filepath.Join(dir, "model"))
			must(t, err)
			if _, err := m.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForeignModel fine-tunes the embedded ALBERT, an ONNX file of PyTorch: the loss falls, and what comes out is a model.
func TestForeignModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	out, err := run(t, context.Background(), "train.run="+dir, "train.from=rxnmapper-albert", "data.train="+molecules(t), "data.column=smiles", "data.layout=padded", "data.length=24",
		"train.steps=30", "train.batch=8", "optimizer.lr=0.0005", "optimizer.warmup=3", "train.log_every=5", "train.precision=float16", "runtime.threads=1", "seed=5")
	must(t, err)
	if !contains(out, "shared: ") {
		t.Errorf("the summary does not name ALBERT's shared parameters:\n%s", out)
	}
	if first, last := losses(t, dir); !(last < first-0.3) {
		t.Errorf("%.3f bits per token at first, %.3f at last; expected it to fall by 0.3", first, last)
	}
	m, err := model.Open(filepath.Join(dir, "model"))
	must(t, err)
	if names, err := m.Verify(); err != nil || len(names) != 3 {
		t.Errorf("%d files have digests, expected 3: %v", len(names), err)
	}
}
