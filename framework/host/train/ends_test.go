package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// stopping are settings of a run that gets worse: it stops early.
func stopping(t *testing.T, dir string) []string {
	return small(t, dir, "train.steps=400", "train.patience=3", "train.eval_every=5", "train.keep=1", "optimizer.lr=0.3", "optimizer.schedule=constant", "optimizer.ema=0")
}

// TestEarlyStop: the model of a run that stopped is that of its best evaluation, and the same command again changes nothing.
func TestEarlyStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := stopping(t, dir)
	out, err := run(t, context.Background(), settings...)
	must(t, err)
	c, _, err := checkpoint.Latest(dir)
	must(t, err)
	best := c.Manifest.Best
	if c.Manifest.Step >= 400 || best.Step >= c.Manifest.Step {
		t.Fatalf("stands at step %d, the best at %d; expected an early stop", c.Manifest.Step, best.Step)
	}
	if !contains(out, "no better evaluation for long enough; the model is that of step ") {
		t.Errorf("the summary does not name the step of the model:\n%s", out)
	}
	m, err := model.Open(filepath.Join(dir, train.ModelDir))
	must(t, err)
	if m.Manifest.Trainer.Steps != best.Step {
		t.Errorf("the model is that of step %d, the best that of %d", m.Manifest.Trainer.Steps, best.Step)
	}
	r, err := eval(t, train.EvalOptions{}, append(settings, "model="+m.Dir)...)
	must(t, err)
	if want := best.Value / math.Ln2; math.Abs(r.Bound.BitsPerToken.Value-want) > 1e-5*want {
		t.Errorf("%v bits per token, the best evaluation had %v", r.Bound.BitsPerToken, want)
	}
	before := tree(t, dir)
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	after := tree(t, dir)
	for _, name := range []string{train.LogFile, "lock"} { // which tell of every session
		delete(before, filepath.Join(dir, name))
		delete(after, filepath.Join(dir, name))
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the command again changed %s", diff[:min(len(diff), 500)])
	}
}

// TestDivergence: a run whose numbers are not finite ends with the step, saves nothing of that, and gives a command that works.
func TestDivergence(t *testing.T) {
	high := []string{"optimizer.clip=0", "optimizer.warmup=0", "optimizer.schedule=constant"}
	for name, c := range map[string]struct {
		settings []string
		want     []string
		model    bool
	}{
		"no checkpoint": {[]string{"optimizer.lr=1e37"}, []string{"step 2: the loss is NaN", "expected a finite number", "no checkpoint is sound", "--set optimizer.lr=1e+36`"}, false},
		"its own state": {[]string{"optimizer.lr=1e37", "train.checkpoint_every=1"}, []string{"step 2: the loss is NaN", "no checkpoint is sound"}, false},
		"parameters":    {[]string{"optimizer.lr=1e38", "optimizer.weight_decay=1e4", "train.checkpoint_every=1"}, []string{"step 1: the parameter denoiser.", "no checkpoint is sound"}, false},
		"evaluation":    {[]string{"optimizer.lr=1e37", "train.eval_every=1"}, []string{"step 1: the bound of row 0 of the evaluation is NaN"}, false},
		"rescued":       {[]string{"optimizer.lr=1e8", "train.checkpoint_every=1"}, []string{"is the model of step 1", "--set optimizer.lr=1e+07`"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			out, err := run(t, context.Background(), small(t, dir, append(high, c.settings...)...)...)
			wantError(t, err, c.want...)
			log, readErr := os.ReadFile(filepath.Join(dir, train.LogFile))
			must(t, readErr)
			if !contains(string(log), "error     step ") {
				t.Errorf("the log does not tell of the error:\n%s", log)
			}
			if _, statErr := os.Lstat(filepath.Join(dir, train.ModelDir)); (statErr == nil) != c.model || contains(out, "/model\n") != c.model {
				t.Errorf("a model is there: %v, expected %v:\n%s", statErr == nil, c.model, out)
			}
			c, _, latestErr := checkpoint.Latest(dir)
			if latestErr != nil {
				return
			}
			f, openErr := c.Open(checkpoint.ModelFile)
			must(t, openErr)
			defer func() { must(t, f.Close()) }()
			for _, tensor := range f.Tensors() {
				values, err := tensor.Float32s()
				must(t, err)
				for _, v := range values {
					if v-v != 0 {
						t.Fatalf("%s of the checkpoint of step %d holds %v", tensor.Name, c.Manifest.Step, v)
					}
				}
			}
		})
	}
}

// TestLog: the log of a run has what it said, line by line with the time, over several sessions.
func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := small(t, dir, "optimizer.warmup=100")
	var said []string
	for range 2 {
		out, err := run(t, context.Background(), settings...)
		must(t, err)
		out = regexp.MustCompile(`(?m)^step \d+/\d+ .*\n`).ReplaceAllString(out, "") // how far it is
		said = append(said, strings.Split(strings.TrimSpace(out), "\n")...)
	}
	if !contains(said[0], "note      optimizer.warmup is 100 and the run has 40 steps") {
		t.Errorf("no note of the long warm-up: %q", said)
	}
	text, err := os.ReadFile(filepath.Join(dir, train.LogFile))
	must(t, err)
	stamp := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S+  `)
	if diff := cmp.Diff(said, strings.Split(strings.TrimSpace(stamp.ReplaceAllString(string(text), "")), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestInterruptedEvaluation: an evaluation that a session was cut off in is made by the next one.
func TestInterruptedEvaluation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := small(t, dir, "train.eval_every=0")
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	path := filepath.Join(dir, train.MetricsFile)
	lines, err := record.Read(path)
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	all := strings.SplitAfter(string(text), "\n")
	must(t, os.WriteFile(path, []byte(strings.Join(all[:len(all)-2], "")), 0o600))
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	again, err := record.Read(path)
	must(t, err)
	for _, l := range [][]record.Line{lines, again} {
		for i := range l {
			l[i].Seconds, l[i].TokensPerSecond = 0, 0
		}
	}
	if diff := cmp.Diff(lines, again); diff != "" {
		t.Error(diff)
	}
}
