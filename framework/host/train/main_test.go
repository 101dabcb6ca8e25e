package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
)

// childVar makes the test binary a training process: its value is a JSON list of settings.
const childVar = "MDMHOST_TEST_TRAIN"

func TestMain(m *testing.M) {
	host.ServePlugin(os.Args)
	if text := os.Getenv(childVar); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// child trains as told, to be killed by its parent.
func child(text string) int {
	var settings []string
	err := json.Unmarshal([]byte(text), &settings)
	if err == nil {
		var cfg *config.Config
		if cfg, err = load(settings...); err == nil {
			err = train.Run(context.Background(), cfg, host.Options{}, train.Streams{Err: os.Stderr})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// load makes a configuration of "key=value" settings.
func load(settings ...string) (*config.Config, error) {
	var flags []config.Assignment
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set " + key})
	}
	return config.Load(config.Sources{Flags: flags})
}

// run trains in this process and returns what it printed.
func run(t *testing.T, ctx context.Context, settings ...string) (string, error) {
	t.Helper()
	cfg, err := load(settings...)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = train.Run(ctx, cfg, host.Options{}, train.Streams{Err: &out})
	return out.String(), err
}

// puzzles writes a small set of rows with given positions: the two halves of each row are equal, and one symbol of the
// first half is given.
func puzzles(t *testing.T, rows int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("puzzle,solution\n")
	for i := range rows {
		half := []byte{byte('a' + i%3), byte('a' + i/3%3), byte('a' + i/9%3), byte('a' + i/27%3)}
		given := []byte("........")
		given[i%4] = half[i%4]
		fmt.Fprintf(&b, "%s,%s%s\n", given, half, half)
	}
	path := filepath.Join(t.TempDir(), "puzzles.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// molecules writes a few molecules.
func molecules(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "molecules.csv")
	text := "smiles\n" + strings.Repeat("CCOC(=O)c1ccccc1\nCC(=O)Nc1ccccc1\nCCN(CC)C(=O)C1CC1\nCOc1ccc(C)cc1\n", 10)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// small are the settings of a run that takes a second.
func small(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	return append([]string{
		"train.run=" + dir, "data.train=" + puzzles(t, 81), "data.valid_fraction=0.2", "data.column=solution", "data.fixed_column=puzzle", "data.blank=.",
		"data.layout=padded", "data.length=8", "network.hidden_size=16", "network.num_hidden_layers=1", "network.num_attention_heads=2", "train.steps=40",
		"train.batch=8", "train.eval_every=10", "train.eval_rows=16", "train.checkpoint_every=7", "train.log_every=5", "optimizer.warmup=5",
		"runtime.threads=1", "seed=11",
	}, more...)
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError holds an error against the parts that its text must have.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
