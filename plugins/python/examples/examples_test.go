// Package examples_test runs the examples as a user would: through mdmhost, on a real model.
package examples_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// bench is a folder with the examples, a Python for them, and mdmhost.
type bench struct{ dir, mdmhost string }

// newBench links the examples, with the interpreter that scripts/test-python-kit.sh names in the place of what ./setup makes.
func newBench(t *testing.T) bench {
	t.Helper()
	python, set := os.LookupEnv("PYTHON_KIT")
	if !set {
		t.Skip("PYTHON_KIT names no Python, so no example is run; scripts/test-python-kit.sh runs these tests")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", filepath.Dir(here))
	library, err := onnx.FindLibrary("") // from here, not from the folder in which the program lies
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(onnx.LibraryVariable, library)
	files, err := os.ReadDir(here)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{dir: t.TempDir()}
	b.mdmhost = filepath.Join(b.dir, "mdmhost")
	links := map[string]string{".venv": filepath.Dir(filepath.Dir(python))}
	for _, f := range files {
		if f.Name()[0] != '.' { // .venv of somebody who has tried the examples
			links[f.Name()] = filepath.Join(here, f.Name())
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.build(t, here, "github.com/mdmhost/mdmhost/framework/cmd/mdmhost", "mdmhost")
	b.build(t, filepath.Join("..", "..", "examples", "focal-trainer"), ".", "focal-trainer")
	return b
}

// build makes a program from a package of the module in dir.
func (b bench) build(t *testing.T, dir, pkg, program string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", filepath.Join(b.dir, program), pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// run returns what a command prints to standard output.
func (b bench) run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, &log)
	}
	return out.Bytes()
}

// plugins are the settings that let the examples find the kit, which is not installed in that Python.
var plugins = []string{"--set", "plugins.env=PYTHONPATH"}

func TestExamples(t *testing.T) {
	b := newBench(t)
	t.Run("samples are those of Go", b.testSamples)
	t.Run("planners that score run", b.testScoring)
	t.Run("losses are those of Go", b.testTrainers)
}

// answer is a line of mdmhost sample.
type answer struct {
	Tokens  []int32
	StepMap []int `json:"step_map"` // when each position was opened, -1: given
	NFE     int
}

func (b bench) sample(t *testing.T, args ...string) (answers []answer, states int) {
	t.Helper()
	args = append([]string{"sample", "--model", "sudoku", "--num", "8", "--seed", "3", "--temperature", "0.7", "--format", "jsonl", "--details"}, args...)
	lines := bufio.NewScanner(bytes.NewReader(b.run(t, b.mdmhost, append(args, plugins...)...)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers, states = append(answers, a), states+a.NFE
	}
	return answers, states
}

// testSamples solves eight Sudokus with first-party planners and with their twins in Python: every position opens in the same step
// with the same token, in more than 200 steps of a real model for each planner.
func (b bench) testSamples(t *testing.T) {
	for name, settings := range map[string][][]string{
		"eb": {{"gamma=0.0003", "max_entropy=0.1"}, {"gamma=0.01", "proxy=margin", "stats_on=sampling", "max_per_step=4"},
			{"gamma=0.1", "proxy=confidence", "confidence=drawn", "max_entropy=inf", "max_per_step=2"}},
		"threshold": {{"threshold=0.999"}, {"threshold=0.99", "fallback=scheduled", "on=sampling", "max_per_step=3"},
			{"threshold=0.9999", "confidence=drawn"}},
		"entropy": {{"k=1"}, {"k=2"}},
	} {
		steps := 0
		for _, options := range settings {
			var args []string
			for _, o := range options {
				args = append(args, "--set", "planner."+o)
			}
			twin, _ := b.sample(t, append([]string{"--planner", "./" + name}, args...)...)
			if name == "entropy" {
				args = append(args, "--set", "planner.schedule=k")
			}
			ours, n := b.sample(t, append([]string{"--planner", name}, args...)...)
			if diff := cmp.Diff(ours, twin); diff != "" || len(ours) != 8 {
				t.Errorf("%s %v, %d rows (-first-party +Python):\n%s", name, options, len(ours), diff)
			}
			steps += n
		}
		t.Logf("%s: the same in %d steps", name, steps)
		if steps < 200 {
			t.Errorf("%s: %d steps, expected at least 200", name, steps)
		}
	}
}

// testScoring runs the planners that bring a model of their own.
func (b bench) testScoring(t *testing.T) {
	for _, name := range []string{"learned_planner", "sklearn_planner"} {
		answers, steps := b.sample(t, "--planner", "./"+name, "--set", "planner.sure=0.99")
		if len(answers) != 8 || steps < 8 || steps > 8*50 {
			t.Errorf("%s: %d rows in %d steps", name, len(answers), steps)
		}
	}
}

// record is a line of metrics.jsonl.
type record struct {
	Kind    string
	Step    int
	Loss    float64
	Norm    float64 `json:"grad_norm"`
	Tokens  int
	Metrics map[string]float64
}

func (b bench) train(t *testing.T, args ...string) (records []record) {
	t.Helper()
	args = append([]string{"train", "--run", "run", "--train", "md4_onnx_trainer.py", "--valid", "md4_onnx_trainer.py", "--batch", "4", "--steps", "4", "--seed", "1",
		"--set", "train.eval_every=2", "--set", "train.log_every=1", "--set", "train.eval_rows=8", "--set", "data.length=16", "--set", "data.format=text",
		"--set", "network.hidden_size=16", "--set", "network.num_hidden_layers=1", "--set", "network.num_attention_heads=2"}, args...)
	b.run(t, b.mdmhost, append(args, plugins...)...)
	file, err := os.ReadFile(filepath.Join(b.dir, "run", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		delete(r.Metrics, "accuracy") // which only the Go trainers' evaluations report
		if r.Kind == "eval" {
			delete(r.Metrics, "ce")
		}
		records = append(records, r)
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "run")); err != nil {
		t.Fatal(err)
	}
	return records
}

// testTrainers trains small networks, with and without the time, on losses written with onnx and exported from PyTorch, and on the
// same losses in Go, with the same seed: losses, norms of gradients and metrics are equal to 1e-5.
func (b bench) testTrainers(t *testing.T) {
	for _, c := range []struct {
		ours, twin []string
	}{
		{[]string{"md4", "--set", "trainer.eval=count"}, []string{"./md4_onnx_trainer"}},
		{[]string{"md4", "--set", "trainer.eps=0.01"}, []string{"./md4_onnx_trainer", "--set", "trainer.eps=0.01"}},
		{[]string{"./focal-trainer", "--set", "trainer.detach=true"}, []string{"./torch_trainer"}},
		{[]string{"./focal-trainer", "--set", "trainer.detach=true", "--set", "trainer.gamma=0.5"}, []string{"./torch_trainer", "--set", "trainer.gamma=0.5"}},
	} {
		for _, network := range []string{"none", "adaln"} {
			if network == "adaln" && c.ours[len(c.ours)-1] == "trainer.eps=0.01" {
				continue // md4 then evaluates by time, this example by counts
			}
			more := []string{"--set", "network.time=" + network, "--trainer"}
			ours, twin := b.train(t, append(more, c.ours...)...), b.train(t, append(more, c.twin...)...)
			if diff := cmp.Diff(ours, twin, cmpopts.EquateApprox(1e-5, 0), cmpopts.EquateEmpty()); diff != "" || len(ours) != 6 {
				t.Errorf("%v, network.time=%s, %d records (-Go +Python):\n%s", c.twin, network, len(ours), diff)
			}
		}
	}
}
