package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// manifest and tensors are what a run has at a step: functions of the step alone.
func manifest(step int64) Manifest {
	m := Manifest{
		Step: step, Rows: 64 * step, Tokens: 4096 * step, Seed: 7, Config: "c0", Artifacts: map[string]string{"training_model.onnx": "a0"},
		WallSeconds: 0.1 * float64(step), CPUSeconds: 0.3 * float64(step),
	}
	if step > 0 {
		m.Best = &Best{Step: 1, Metric: "bits_per_token", Value: 1.0 / 3}
	}
	return m
}

func tensors(step int64) Tensors {
	vector := func(name string, shape ...int64) safetensors.Tensor {
		t := safetensors.Tensor{Shape: shape}
		v := make([]float32, t.Len())
		for i := range v {
			v[i] = math.Float32frombits(uint32(step)*2654435761 + uint32(i)*40503 + uint32(len(name))) // any bits, NaNs too
		}
		return safetensors.Of(name, shape, v)
	}
	return Tensors{
		Model:     []safetensors.Tensor{vector("embed.weight", 50, 16), vector("head.bias", 50)},
		EMA:       []safetensors.Tensor{vector("embed.weight", 50, 16), vector("head.bias", 50)},
		Optimizer: []safetensors.Tensor{vector("adam.m", 850), vector("adam.v", 850)},
	}
}

func mustOpen(t testing.TB, run string, keep int) *Store {
	t.Helper()
	s, err := Open(run, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func save(t testing.TB, s *Store, some ...int64) {
	t.Helper()
	for _, step := range some {
		if err := s.Save(manifest(step), tensors(step)); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares a checkpoint with what was saved, bit by bit.
func same(t testing.TB, c *Checkpoint, step int64) {
	t.Helper()
	got := c.Manifest
	got.Format, got.Version, got.Files, got.Digest = "", 0, nil, ""
	if diff := cmp.Diff(manifest(step), got); diff != "" {
		t.Fatal(diff)
	}
	for name, want := range map[string][]safetensors.Tensor{ModelFile: tensors(step).Model, EMAFile: tensors(step).EMA, OptimizerFile: tensors(step).Optimizer} {
		f, err := c.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.Tensors()); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t testing.TB, run string) []string {
	t.Helper()
	entries, err := os.ReadDir(stepsDir(run))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSaveAndLatest(t *testing.T) {
	run := filepath.Join(t.TempDir(), "a [run]*")
	s := mustOpen(t, run, 2)
	if _, _, err := s.Latest(); !errors.Is(err, ErrNone) {
		t.Errorf("an empty run: %v", err)
	}
	save(t, s, 1, 2, 9, 10, 10, 11)
	c, skipped, err := s.Latest()
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	same(t, c, 11)
	// The last two and the best; 10 before 9, which a sort by name would not know.
	if diff := cmp.Diff([]string{"step-1", "step-10", "step-11"}, names(t, run)); diff != "" {
		t.Error(diff)
	}
	m := manifest(12)
	m.Best.Value = math.NaN()
	if err := s.Save(m, Tensors{}); err == nil || !strings.HasSuffix(err.Error(), "every number must be finite; the checkpoints before it are kept") {
		t.Error(err)
	}
	m = manifest(12)
	if err := s.Save(m, Tensors{}); err != nil {
		t.Fatal(err)
	}
	if c, _, err = s.Latest(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(EMAFile); err == nil || !strings.HasSuffix(err.Error(), "has no ema.safetensors; the run was begun without it") {
		t.Error(err)
	}
}

func TestLeftovers(t *testing.T) {
	run := t.TempDir()
	s := mustOpen(t, run, 0)
	save(t, s, 1, 2, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(stepsDir(run), name) }
	if err := errors.Join(
		os.Rename(at("step-3"), at("step-3.old.part")), // killed before the new one came
		os.Rename(at("step-2"), at("step-2.old.part")),
		os.Mkdir(at("step-2.part"), 0o755),                       // and here
		os.CopyFS(at("step-1.old.part"), os.DirFS(at("step-1"))), // killed after it came
		os.Mkdir(at("step-7.part"), 0o755),
		os.WriteFile(at("notes.txt"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, run, 0)
	if diff := cmp.Diff([]string{"notes.txt", "step-1", "step-2", "step-3"}, names(t, run)); diff != "" {
		t.Error(diff)
	}
	c, skipped, err := s.Latest()
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	same(t, c, 3)
}

func TestDamagedOnesAreSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string // after the directory
	}{
		"missing file": {func(dir string) error { return os.Remove(filepath.Join(dir, OptimizerFile)) }, OptimizerFile + ": no such file or directory; it is left out"},
		"no manifest":  {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, manifestName + ": no such file or directory; it is left out"},
		"cut":          {func(dir string) error { return os.Truncate(filepath.Join(dir, ModelFile), 100) }, "model.safetensors has 100 bytes, expected 3584; it is left out"},
		"a bit":        {func(dir string) error { return flip(filepath.Join(dir, EMAFile), -1) }, "; it is left out"},
		"manifest": {func(dir string) error {
			return replaceIn(filepath.Join(dir, manifestName), `"rows": 192`, `"rows": 193`)
		}, "manifest.json: does not agree with its own digest; it is left out"},
		"no JSON": {func(dir string) error { return os.Truncate(filepath.Join(dir, manifestName), 10) }, "manifest.json: malformed JSON: unexpected end of JSON input; it is left out"},
		"renamed": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(dir, "../step-1"))))
		}, "manifest.json is that of step 1; it is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			run := t.TempDir()
			s := mustOpen(t, run, 2)
			save(t, s, 1, 2, 3)
			if err := c.damage(stepDir(run, 3)); err != nil {
				t.Fatal(err)
			}
			got, skipped, err := s.Latest()
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, 2)
			if len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), "checkpoint "+stepDir(run, 3)+": ") || !strings.HasSuffix(skipped[0].Error(), c.want) {
				t.Errorf("skipped %v, expected %s", skipped, c.want)
			}
			// The run comes to step 3 again: the damaged one is replaced, and never counts as one of the newest.
			save(t, s, 3, 4)
			if got, skipped, err = s.Latest(); err != nil || skipped != nil {
				t.Fatal(err, skipped)
			}
			same(t, got, 4)
			if diff := cmp.Diff([]string{"step-1", "step-3", "step-4"}, names(t, run)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoneIsLeft(t *testing.T) {
	run := t.TempDir()
	s := mustOpen(t, run, 0)
	save(t, s, 1, 2)
	for _, step := range []int64{1, 2} {
		if err := flip(filepath.Join(stepDir(run, step), ModelFile), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, skipped, err := s.Latest()
	if err == nil || len(skipped) != 2 || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "all 2 checkpoints are damaged (the newest: checkpoint "+stepDir(run, 2)) ||
		!strings.HasSuffix(err.Error(), "copy one from a backup, or start a run in another directory") {
		t.Errorf("%v, skipped %v", err, skipped)
	}
}

func TestNewerVersionIsNotSkipped(t *testing.T) {
	run := t.TempDir()
	s := mustOpen(t, run, 0)
	save(t, s, 1, 2)
	if err := replaceIn(filepath.Join(stepDir(run, 2), manifestName), `"version": 1`, `"version": 2`); err != nil {
		t.Fatal(err)
	}
	want := "checkpoint " + stepDir(run, 2) + ": manifest.json: has version 2, this program knows 1; use the newer program that wrote it"
	if _, _, err := s.Latest(); err == nil || err.Error() != want {
		t.Errorf("found %v\nexpected %s", err, want)
	}
}

func TestMatch(t *testing.T) {
	c := &Checkpoint{Dir: "d", Manifest: manifest(1)}
	if err := c.Match("c0", map[string]string{"training_model.onnx": "a0"}); err != nil {
		t.Error(err)
	}
	err := c.Match("c1", map[string]string{"training_model.onnx": "a1", "optimizer_model.onnx": "b"})
	want := "checkpoint d: was written with another configuration and other artifacts (optimizer_model.onnx, training_model.onnx); go on with what the run began with, or name another run directory"
	var changed *Changed
	if !errors.As(err, &changed) || err.Error() != want || !changed.Config || len(changed.Artifacts) != 2 {
		t.Errorf("found %v\nexpected %s", err, want)
	}
}

func TestBusy(t *testing.T) {
	run := t.TempDir()
	s := mustOpen(t, run, 0)
	save(t, s, 1)
	_, err := Open(run, 0)
	var busy *Busy
	host, _ := os.Hostname()
	want := fmt.Sprintf("run %s: process %d on %s (since 2", run, os.Getpid(), host)
	if !errors.As(err, &busy) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("found %v\nexpected %s", err, want)
	}
	if _, _, err := Latest(run); err != nil { // reading needs no lock
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, run, 0)
}

// TestClaim: a directory that is only claimed stays as it is, and one that another process began a run in meanwhile is not written to.
func TestClaim(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	first, err := Claim(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(run); err == nil {
		t.Error("a claim made the directory")
	}
	second := mustOpen(t, run, 0)
	save(t, second, 1, 2, 3)
	var busy *Busy
	if err := first.Begin(); !errors.As(err, &busy) {
		t.Errorf("the run of another process was taken: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Begin(); err == nil || !strings.Contains(err.Error(), "another process began it just now") {
		t.Errorf("the run of another process was taken: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	signed, err := os.ReadFile(lockPath(run))
	if err != nil {
		t.Fatal(err)
	}
	third, err := Claim(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(lockPath(run)); err != nil || string(now) != string(signed) {
		t.Errorf("a claim wrote %s, %v", now, err)
	}
	if _, err := Claim(run, 0); !errors.As(err, &busy) {
		t.Errorf("a claimed run was taken again: %v", err)
	}
	for step, want := range map[int64]int64{4: 3, 3: 2, 1: -1} {
		c, err := third.Before(step)
		if want < 0 {
			if !errors.Is(err, ErrNone) {
				t.Errorf("before step %d: %v, %v", step, c, err)
			}
		} else if err != nil || c.Manifest.Step != want {
			t.Errorf("before step %d: %v, %v; expected step %d", step, c, err, want)
		}
	}
	if c, err := third.At(2); err != nil || c.Manifest.Step != 2 {
		t.Errorf("at step 2: %v, %v", c, err)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzManifest(f *testing.F) {
	m := manifest(3)
	m.Files = []File{{ModelFile, 3, "ab"}}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"mdmhost checkpoint","version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), manifestName+": ") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		if again, err := m.encode(); err != nil || string(again) != string(text) {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	})
}

// flip changes one bit of a file; negative positions count from its end.
func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[(at+len(b))%len(b)] ^= 1
	return os.WriteFile(path, b, 0o600)
}

func replaceIn(path, old, new string) error {
	b, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(b), old) {
		err = fmt.Errorf("%s holds no %s", path, old)
	}
	return errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(b), old, new, 1)), 0o600))
}
