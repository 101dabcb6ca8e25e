package train_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// TestOtherSettings: a run does not go on with something else than it began with, and says what changed.
func TestOtherSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := small(t, dir, "train.steps=5")
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	_, err = run(t, context.Background(), append(settings, "optimizer.lr=0.5", "network.hidden_size=32")...)
	wantError(t, err, "was begun with other settings", "optimizer.lr: was 0.001, is 0.5", "network.hidden_size: was 16, is 32")
	_, err = run(t, context.Background(), append(settings, "seed=12")...)
	wantError(t, err, "was begun with seed 11, found 12")
	_, err = run(t, context.Background(), append(settings, "train.keep=1", "train.log_every=1", "train.eval_rows=4")...) // may change
	must(t, err)
}

// TestChangedTrainer: a run does not go on with a trainer that makes other graphs, and stays as it is.
func TestChangedTrainer(t *testing.T) {
	home := t.TempDir()
	focal, dir := filepath.Join(home, "focal-trainer"), filepath.Join(home, "run")
	source, err := filepath.Abs(filepath.Join("..", "..", "..", "plugins", "examples", "focal-trainer"))
	must(t, err)
	build := func(flags ...string) {
		c := exec.Command("go", append(append([]string{"build", "-o", focal}, flags...), ".")...)
		c.Dir = source
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	build()
	settings := small(t, dir, "train.steps=5", "trainer.name="+focal)
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(source, "main.go"))
	must(t, err)
	other, overlay := filepath.Join(home, "main.go"), filepath.Join(home, "overlay.json")
	must(t, os.WriteFile(other, bytes.Replace(text, []byte("g.Float(1e-6)"), []byte("g.Float(1e-5)"), 1), 0o600))
	must(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(source, "main.go"), other), 0o600))
	build("-overlay", overlay)
	before := tree(t, dir)
	_, err = run(t, context.Background(), settings...)
	wantError(t, err, "trainer focal", "is another than the run was begun with", "training_model.onnx", "name another run directory")
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("a refused command changed the run: %s", diff)
	}
}

// tree are the contents of the files below a directory, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	}))
	return out
}

// TestDamagedCheckpoint: the one before is taken, and the summary says so.
func TestDamagedCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := small(t, dir)
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	want := outcomeOf(t, dir, 40)
	path := filepath.Join(dir, "checkpoints", "step-40", checkpoint.ModelFile)
	text, err := os.ReadFile(path)
	must(t, err)
	text[len(text)-1] ^= 1
	must(t, os.WriteFile(path, text, 0o600))
	out, err := run(t, context.Background(), settings...)
	must(t, err)
	if !contains(out, "was changed or damaged") {
		t.Errorf("the summary does not name the damaged checkpoint:\n%s", out)
	}
	if got := outcomeOf(t, dir, 40); got.Files[checkpoint.ModelFile] != want.Files[checkpoint.ModelFile] {
		t.Error("the run ended elsewhere after it went on from the checkpoint before")
	}
}

// TestTwoRunsInOneDirectory: the second says who works there.
func TestTwoRunsInOneDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	store, err := checkpoint.Open(dir, 1)
	must(t, err)
	defer func() { must(t, store.Close()) }()
	_, err = run(t, context.Background(), small(t, dir)...)
	wantError(t, err, dir)
}

// TestBadSettings: everything wrong is listed at once, before anything is written.
func TestBadSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := run(t, context.Background(), "train.run="+dir)
	wantError(t, err, "data.train", "data.length")
	_, err = run(t, context.Background(), "data.train=x.txt", "data.length=8")
	wantError(t, err, "train.run: is empty")
	model := t.TempDir()
	must(t, os.WriteFile(filepath.Join(model, "config.json"), []byte("{}"), 0o600))
	_, err = run(t, context.Background(), small(t, model)...)
	wantError(t, err, "train.run", "is a model directory", "name another")
	_, err = run(t, context.Background(), small(t, dir, "train.patience=2", "data.valid_fraction=0")...)
	wantError(t, err, "train.patience: is 2 evaluations", "no validation data", "data.valid_fraction")
	_, err = run(t, context.Background(), small(t, dir, "train.patience=2", "train.eval_every=0")...)
	wantError(t, err, "train.patience: is 2 evaluations", "train.eval_every")
	settings := small(t, dir, "network.num_attention_heads=3")
	_, err = run(t, context.Background(), settings...)
	wantError(t, err, "num_attention_heads")
	_, err = run(t, context.Background(), small(t, dir, "trainer.name=md5")...)
	wantError(t, err, "trainer md5", "did you mean md4?")
	_, err = run(t, context.Background(), small(t, filepath.Join(t.TempDir(), "other"), "trainer.scheduel=cosine")...)
	wantError(t, err, "trainer.scheduel", "did you mean")
	if _, err := os.Lstat(dir); err == nil {
		t.Errorf("a refused command made %s", dir)
	}
	if files := tree(t, model); len(files) != 1 {
		t.Errorf("a refused command left %d files in a model directory", len(files))
	}
}

// TestBadData: lines that cannot be read are named with their file and number.
func TestBadData(t *testing.T) {
	settings := small(t, filepath.Join(t.TempDir(), "run"))
	path := strings.TrimPrefix(settings[1], "data.train=")
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(text, "only one field\n"...), 0o600))
	_, err = run(t, context.Background(), settings...)
	wantError(t, err, "puzzles.csv:83")
}

// TestFullDisk: the run ends with the file and what to do; what was saved before is whole, and the run goes on when there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root: %v", err)
	}
	defer func() { must(t, syscall.Unmount(dir, 0)) }()
	settings := small(t, filepath.Join(dir, "run"), "train.keep=100")
	_, err := run(t, context.Background(), settings...)
	wantError(t, err, "no space left on device", "make room and run the same command again")
	c, skipped, err := checkpoint.Latest(filepath.Join(dir, "run"))
	if err != nil || len(skipped) > 0 || c.Manifest.Step < 7 {
		t.Fatal(c, skipped, err)
	}
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=20m"))
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	calm := filepath.Join(t.TempDir(), "run")
	settings[0] = "train.run=" + calm
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	if diff := cmp.Diff(outcomeOf(t, calm, 40), outcomeOf(t, filepath.Join(dir, "run"), 40)); diff != "" {
		t.Error(diff)
	}
}
