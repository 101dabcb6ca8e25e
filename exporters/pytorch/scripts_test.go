package pytorch_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// sampled is what the scripts of real exports wrote: see testdata/rows.py.
type sampled struct {
	SHA256 map[string]string // of the scripts
	Cases  []struct {
		Model, Script string
		Flags         []string
		Tokens        [][]int32
		Text          []string
	}
}

func readSampled(t *testing.T) (s sampled) {
	t.Helper()
	goldenfile.Read(t, "testdata/rows.json.gz", &s)
	if len(s.Cases) == 0 || len(s.SHA256) == 0 {
		t.Fatal("testdata/rows.json.gz holds no rows")
	}
	return s
}

// The host gives the rows of sample.py and sample_insertion.py as they stand: the same tokens for the same seed, at any temperature.
func TestScriptsSampleAsTheHost(t *testing.T) {
	golden := readSampled(t)
	for name, want := range golden.SHA256 {
		if sum := sha256.Sum256(pytorch.Script(name)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s changed since testdata/rows.py ran: run ./scripts/golden.sh PYTHON", name)
		}
	}
	for _, c := range golden.Cases {
		t.Run(c.Model+" "+strings.Join(c.Flags, " "), func(t *testing.T) {
			tokens, text := hostRows(t, c.Model, c.Flags)
			if diff := cmp.Diff(c.Tokens, tokens); diff != "" {
				t.Errorf("tokens (-script +host):\n%s", diff)
			}
			if diff := cmp.Diff(c.Text, text); diff != "" {
				t.Errorf("text (-script +host):\n%s", diff)
			}
		})
	}
}

// hostRows are the rows that `mdmhost sample` gives with flags.
func hostRows(t *testing.T, model string, flags []string) (tokens [][]int32, text []string) {
	t.Helper()
	set := []config.Assignment{{Key: "model", Value: model}, {Key: "runtime.threads", Value: "1"}}
	for i := 0; i < len(flags); i += 2 {
		key, value := strings.TrimPrefix(flags[i], "--"), flags[i+1]
		switch key {
		case "set":
			key, value, _ = strings.Cut(value, "=")
		case "temperature":
			key = "sampling.temperature"
		}
		set = append(set, config.Assignment{Key: key, Value: value, Flag: flags[i]})
	}
	cfg, err := config.Load(config.Sources{Flags: set})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	kind, given := results.Prompt, cfg.Prompt
	if cfg.Given("infill") {
		kind, given = results.Infill, cfg.Infill
	}
	rows, _, err := results.Requests(h.Model(), h.Config(), []results.Question{{Kind: kind, Text: given}})
	if err != nil {
		t.Fatal(err)
	}
	tokens, text = make([][]int32, len(rows)), make([]string, len(rows))
	next := 0
	_, err = h.Sample(t.Context(), len(rows), func() (sampling.Request, bool) {
		if next == len(rows) {
			return sampling.Request{}, false
		}
		next++
		return rows[next-1], true
	}, func(r sampling.Result) error {
		tokens[r.Index], text[r.Index] = slices.Clone(r.Tokens), h.Model().Tokenizer.Decode(r.Tokens, true)
		return r.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tokens, text
}

// torch is an interpreter with PyTorch.
func torch(t *testing.T) string {
	t.Helper()
	python := os.Getenv("PEERS_PYTHON")
	if python == "" {
		t.Skip("set PEERS_PYTHON to a Python with torch: ./dev peers installs one")
	}
	return python
}

// exported is a real export of an embedded model, unverified.
func exported(t *testing.T, model string) string {
	t.Helper()
	s, err := exporters.Open(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	files, err := pytorch.New().Files(t.Context(), s, exporters.Options{Precision: exporters.FP32})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), model)
	if err := wholefile.ReplaceDir(dir, files, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// python runs one in a folder and returns its standard output.
func python(t *testing.T, interpreter, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), interpreter, args...)
	var out, problems bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), "OMP_NUM_THREADS=1"), &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.String()
}

// The scripts in exports of today give the rows of the golden file, where there is a PyTorch.
func TestScriptsSampleAsTheyDid(t *testing.T) {
	interpreter := torch(t)
	dirs := map[string]string{}
	for _, c := range readSampled(t).Cases {
		if dirs[c.Model] == "" {
			dirs[c.Model] = exported(t, c.Model)
		}
		var got [][]int32
		for line := range strings.Lines(python(t, interpreter, dirs[c.Model], append([]string{c.Script, "--format", "jsonl"}, c.Flags...)...)) {
			var row struct{ Tokens []int32 }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Tokens)
		}
		if diff := cmp.Diff(c.Tokens, got); diff != "" {
			t.Errorf("%s %s (-golden +now):\n%s", c.Model, strings.Join(c.Flags, " "), diff)
		}
	}
}

// What the scripts have no rule for is refused in one line, before anything is sampled.
func TestScriptsRefuse(t *testing.T) {
	interpreter, dir := torch(t), exported(t, "text")
	for want, args := range map[string][]string{
		"prompt: holds the mask":                        {"--prompt", "a[MASK]"},
		"the row has 200 positions with special tokens": {"--prompt", "", "--length", "200"},
		"--set planner.k=2: planner eb has no option k": {"--prompt", "a", "--planner", "eb", "--set", "planner.k=2"},
	} {
		out, err := exec.CommandContext(t.Context(), interpreter, append([]string{filepath.Join(dir, "sample.py")}, args...)...).CombinedOutput()
		if failed := new(exec.ExitError); !errors.As(err, &failed) || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v: %v, %s\nwant %s", args, err, out, want)
		}
	}
	for generation, want := range map[string]string{
		`{"planner": {"name": "eb", "proxy": "margin"}}`: "generation_config.json: planner.proxy: this script has no rule for it",
		`{"planner": {"name": "wino"}}`:                  "generation_config.json: planner wino: expected one of confidence, eb, p2",
		`{"sampler": {"name": "infogain"}}`:              "generation_config.json: sampler infogain: expected masked",
	} {
		if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(generation), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), interpreter, filepath.Join(dir, "sample.py"), "--prompt", "a").CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v, %s\nwant %s", err, out, want)
		}
	}
}

// train is the losses that train.py prints, one a step.
func train(t *testing.T, interpreter, dir string, args ...string) (losses []float64) {
	t.Helper()
	for line := range strings.Lines(python(t, interpreter, dir, args...)) {
		var step struct{ Loss float64 }
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			t.Fatal(err)
		}
		losses = append(losses, step.Loss)
	}
	return losses
}

// However many processes and passes share a step, and wherever a run is broken off, the losses are the same.
func TestTrainingIsTheSameOnManyProcesses(t *testing.T) {
	interpreter := torch(t)
	for model, rows := range map[string]string{"text": "It was the best of times,\nthe worst\nof times\n", "molecule-insertion": "CCO\nc1ccccc1\nCC(=O)N\n"} {
		dir := exported(t, model)
		data := filepath.Join(dir, "rows.txt")
		if err := os.WriteFile(data, []byte(rows), 0o644); err != nil {
			t.Fatal(err)
		}
		flags := func(out string, more ...string) []string {
			return append([]string{"train.py", "--data", data, "--out", filepath.Join(dir, out), "--steps", "3", "--batch", "4", "--log-every", "1", "--warmup", "1", "--lr", "1e-3"}, more...)
		}
		want := train(t, interpreter, dir, flags("one")...)
		if len(want) != 3 || want[0] <= 0 || want[0] > 100 {
			t.Fatalf("%s: losses %v", model, want)
		}
		for name, args := range map[string][]string{
			"two processes": append([]string{"-m", "torch.distributed.run", "--nproc-per-node", "2"}, flags("two")...),
			"two passes":    flags("passes", "--accumulate", "2"),
		} {
			got := train(t, interpreter, dir, args...)
			for i := range want {
				if i >= len(got) || got[i] < want[i]-1e-5*want[i] || got[i] > want[i]+1e-5*want[i] {
					t.Errorf("%s, %s: losses %v, want %v", model, name, got, want)
					break
				}
			}
		}
		if model != "text" { // the rest does not depend on the loss
			continue
		}
		one := filepath.Join(dir, "one")
		for _, name := range []string{"model.safetensors", "config.json", "mdm.json", "tokenizer.json", "checkpoint.pt"} {
			if _, err := os.Stat(filepath.Join(one, name)); err != nil {
				t.Error(err)
			}
		}
		if again := python(t, interpreter, dir, flags("one")...); again != "" {
			t.Errorf("%s: a finished run goes on: %s", model, again)
		}
		c := exec.CommandContext(t.Context(), interpreter, flags("one", "--seed", "9")...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "was made with other seed; give the same, or another --out") {
			t.Errorf("%s: another seed: %v, %s", model, err, out)
		}
		if out := python(t, interpreter, one, "sample.py", "--prompt", "C", "--num", "1", "--seed", "1", "--steps", "4", "--length", "4", "--format", "jsonl"); !strings.Contains(out, fmt.Sprintf("%q", "tokens")) {
			t.Errorf("%s: the trained model samples %q", model, out)
		}
	}
}
