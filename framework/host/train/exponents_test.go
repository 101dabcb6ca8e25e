package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// exponentsOf reads those of a run's model.
func exponentsOf(t *testing.T, dir string) (*model.Model, []float32) {
	t.Helper()
	m, err := model.Open(filepath.Join(dir, train.ModelDir))
	must(t, err)
	w, err := m.Exponents()
	must(t, err)
	return m, w
}

// rawOf reads the parameters of the exponents from a run's newest checkpoint.
func rawOf(t *testing.T, dir, file string) []float32 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*", file))
	must(t, err)
	if len(files) == 0 {
		t.Fatalf("no %s in the checkpoints of %s", file, dir)
	}
	f, err := safetensors.Open(slices.Max(files))
	must(t, err)
	defer func() { must(t, f.Close()) }()
	raw, err := f.Tensor("raw")
	must(t, err)
	values, err := raw.Float32s()
	must(t, err)
	return slices.Clone(values)
}

// TestExponents: the exponents of the moving average are written with its network, a run that begins with the model goes on from
// them, frozen ones stay, and an evaluation of the model is the one at the end of the training.
func TestExponents(t *testing.T) {
	dir := t.TempDir()
	first, second, third := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "third")
	genmd4 := []string{"trainer.name=genmd4", "network.time=adaln", "trainer.exponents_lr=20", "optimizer.ema=0.9"}
	settings := small(t, first, genmd4...)
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	m, w := exponentsOf(t, first)
	if m.Manifest.Schedule != (model.Schedule{Kind: "per_token", Eps: 1e-4}) {
		t.Errorf("schedule %+v", m.Manifest.Schedule)
	}
	raw := rawOf(t, first, checkpoint.EMAFile)
	if slices.Equal(raw, rawOf(t, first, checkpoint.ModelFile)) {
		t.Error("the moving average of the exponents is their last value: it averages nothing")
	}
	far := 0.0
	for id, x := range w {
		if want := math.Log1p(math.Exp(float64(raw[id]))); math.Abs(float64(x)-want) > 1e-6*want {
			t.Errorf("token %d: w is %v, the softplus of the moving average %v", id, x, want)
		}
		far = max(far, math.Abs(float64(x)-1))
	}
	if far < 0.05 {
		t.Errorf("exponents %v: they have not moved from 1", w)
	}

	cfg, err := load("model="+m.Dir, settings[1], "data.valid_fraction=0.2", "data.column=solution", "data.fixed_column=puzzle", "data.blank=.", "data.layout=padded", "data.length=8",
		"train.eval_rows=16", "train.batch=8", "runtime.threads=1", "seed=11")
	must(t, err)
	report, err := train.Evaluate(context.Background(), cfg, host.Options{}, train.EvalOptions{Draws: 1}, train.Streams{Err: os.Stderr})
	must(t, err)
	lines, err := record.Read(filepath.Join(first, train.MetricsFile))
	must(t, err)
	last := lines[len(lines)-1]
	if bits := report.Bound.BitsPerToken.Value; report.Bound.Kind != "bound" || math.Abs(bits-float64(last.BitsPerToken)) > 1e-4 {
		t.Errorf("%s of the model: %.6f bits per token, at the end of its training %.6f", report.Bound.Kind, bits, float64(last.BitsPerToken))
	}
	if _, err := train.Evaluate(context.Background(), cfg, host.Options{}, train.EvalOptions{Draws: 1, Exact: true}, train.Streams{Err: os.Stderr}); err == nil {
		t.Error("an evaluation enumerates subsets of masks, and exponents make some orders likelier")
	}

	_, err = run(t, context.Background(), append(small(t, second, genmd4...), "train.from="+m.Dir, "train.steps=1", "optimizer.lr=1e-9")...)
	must(t, err)
	_, on := exponentsOf(t, second)
	_, err = run(t, context.Background(), append(small(t, third, genmd4...), "train.from="+m.Dir, "train.steps=3", "trainer.frozen=true")...)
	must(t, err)
	_, still := exponentsOf(t, third)
	for id, x := range w {
		if math.Abs(float64(on[id]-x)) > 1e-5*float64(x) || math.Abs(float64(still[id]-x)) > 1e-6*float64(x) {
			t.Errorf("token %d: exponent %v becomes %v in a run that begins with the model, and %v where it is frozen", id, x, on[id], still[id])
		}
	}
}

// TestExponentsAreNeeded: a bound of exponents needs some, and so does a model that says it has them.
func TestExponentsAreNeeded(t *testing.T) {
	cfg, err := load("model=molecule", "data.valid="+molecules(t), "data.column=smiles", "trainer.name=genmd4", "trainer.timeless=true", "train.eval_rows=4")
	must(t, err)
	_, err = train.Evaluate(context.Background(), cfg, host.Options{}, train.EvalOptions{Draws: 1}, train.Streams{Err: os.Stderr})
	wantError(t, err, "model molecule: has no exponents, which the bound of trainer genmd4 is about; evaluate with trainer md4, or train one with genmd4")

	run1 := filepath.Join(t.TempDir(), "run")
	_, err = run(t, context.Background(), small(t, run1, "trainer.name=genmd4")...)
	wantError(t, err, "trainer genmd4: INVALID_CONFIG: the network is not told the time", "--set network.time=adaln")

	_, err = run(t, context.Background(), small(t, run1, "trainer.name=genmd4", "trainer.timeless=true", "train.steps=2")...)
	must(t, err)
	m, _ := exponentsOf(t, run1)
	f, err := safetensors.Open(filepath.Join(m.Dir, "model.safetensors"))
	must(t, err)
	tensors := slices.DeleteFunc(slices.Clone(f.Tensors()), func(t safetensors.Tensor) bool { return t.Name == model.ExponentsTensor })
	without := filepath.Join(t.TempDir(), "model.safetensors")
	must(t, safetensors.WriteFile(without, tensors, nil))
	must(t, f.Close())
	must(t, os.Rename(without, filepath.Join(m.Dir, "model.safetensors")))
	_, err = m.Exponents()
	wantError(t, err, "model.safetensors: has no tensor schedule.exponents; mdm.json says schedule per_token: copy the file of that training run")
	must(t, os.Remove(filepath.Join(m.Dir, "model.safetensors")))
	_, err = m.Exponents()
	wantError(t, err, "model.safetensors: is not there, expected it with the tensor schedule.exponents")
}
