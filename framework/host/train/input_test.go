package train_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
)

// TestChangedData: a run goes on with the data that it was begun with, from any working directory; a file that changed since is
// named, whether or not the number of rows is the same.
func TestChangedData(t *testing.T) {
	home := t.TempDir()
	settings := small(t, "run", "data.valid_fraction=0", "data.valid=valid.csv", "train.steps=5")
	table := strings.TrimPrefix(settings[1], "data.train=")
	text, err := os.ReadFile(table)
	must(t, err)
	for _, name := range []string{"train.csv", "valid.csv"} {
		must(t, os.WriteFile(filepath.Join(home, name), text, 0o600))
	}
	settings[1] = "data.train=train.csv"
	t.Chdir(home)
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	if out, err := exec.Command("sha256sum", "-c", "run/data.sha256").CombinedOutput(); err != nil || !contains(string(out), home+"/valid.csv: OK") {
		t.Errorf("%s%v", out, err)
	}

	t.Chdir(t.TempDir())
	settings[0], settings[1] = "train.run="+home+"/run", "data.train="+home+"/train.csv"
	_, err = run(t, context.Background(), append(settings, "data.valid="+home+"/valid.csv")...)
	must(t, err)
	_, err = run(t, context.Background(), append(settings, "data.valid="+home+"/train.csv")...)
	wantError(t, err, "data.valid: was ", home+"/valid.csv")

	t.Chdir(home)
	for _, name := range []string{"train.csv", "valid.csv"} {
		other := strings.Replace(string(text), "aaaaaaaa", "baaabaaa", 1)
		must(t, os.WriteFile(name, []byte(other), 0o600))
		_, err = run(t, context.Background(), settings...)
		wantError(t, err, "run "+home+"/run: "+home+"/"+name+" changed since the run was begun; restore it, or name another run directory")
		must(t, os.WriteFile(name, text, 0o600))
	}
	_, err = run(t, context.Background(), settings...)
	must(t, err)
}

// TestRunFromPreparedData: a run from prepared data is that from the files, and its model knows the blanks; the settings of a preset may
// stand beside it when they are those that the data was prepared with.
func TestRunFromPreparedData(t *testing.T) {
	direct, other, shards := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "shards")
	settings := small(t, direct)
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	cfg, err := load(settings...)
	must(t, err)
	_, err = train.Prepare(context.Background(), cfg, shards, train.Streams{Err: io.Discard})
	must(t, err)
	settings[0] = "train.run=" + other
	settings = append(settings[:2], append(settings[3:], "data.prepared="+shards)...) // without data.valid_fraction
	settings = append(settings[:1], settings[2:]...)                                  // nor data.train
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	if diff := cmp.Diff(outcomeOf(t, direct, 40), outcomeOf(t, other, 40)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"mdm.json", "generation_config.json", "model.safetensors"} {
		want, err := os.ReadFile(filepath.Join(direct, "model", name))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(other, "model", name))
		must(t, err)
		if string(got) != string(want) {
			t.Errorf("%s differs: %s %s", name, got, want)
		}
	}
	_, err = run(t, context.Background(), append(settings, "data.layout=packed", "data.blank=0")...)
	wantError(t, err, "--set data.layout: is \"packed\", but the rows in "+shards+" were prepared with \"padded\"", "--set data.blank")
	third := filepath.Join(t.TempDir(), "run") // by the settings that the run wrote down
	cfg, err = config.Load(config.Sources{File: filepath.Join(other, "config.yaml"), Flags: []config.Assignment{{Key: "train.run", Value: third, Flag: "--run"}}})
	must(t, err)
	must(t, train.Run(context.Background(), cfg, host.Options{}, train.Streams{Err: io.Discard}))
	c, _, err := checkpoint.Latest(third)
	must(t, err)
	if diff := cmp.Diff(outcomeOf(t, direct, 40).Files, outcomeOf(t, third, c.Manifest.Step).Files); diff != "" {
		t.Error(diff)
	}
}

// TestLeftOut: what the data had that is not trained on is said before the first step, and so it is of an evaluation.
func TestLeftOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	settings := small(t, dir, "train.steps=5", "data.bad_lines=skip")
	table := strings.TrimPrefix(settings[1], "data.train=")
	text, err := os.ReadFile(table)
	must(t, err)
	must(t, os.WriteFile(table, append(text, "one field\n"...), 0o600))
	out, err := run(t, context.Background(), settings...)
	must(t, err)
	want := "data.train: 1 bad line left out (" + table + ":83: expected 2 fields as in the header, found 1)"
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	must(t, err)
	if note, step := strings.Index(out, want), strings.Index(out, "steps  "); note < 0 || step < note || !contains(string(log), want) {
		t.Errorf("output %q, log %q", out, log)
	}
	r, err := eval(t, train.EvalOptions{}, "model="+dir+"/model", "data.valid="+table, "data.column=solution", "data.fixed_column=puzzle", "data.blank=.", "data.bad_lines=skip")
	must(t, err)
	if diff := cmp.Diff([]string{strings.Replace(want, "train", "valid", 1)}, r.Notes); diff != "" {
		t.Error(diff)
	}
}
