package train_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
)

// TestInheritance: what a run begins with gives its network, its tokenizer, and settings of sampling that nobody else gives.
func TestInheritance(t *testing.T) {
	home := t.TempDir()
	first := filepath.Join(home, "first")
	settings := small(t, first, "train.steps=5", "planner.name=p2", "planner.gamma=0.5", "sampling.temperature=0.7", "sampling.suppress_tokens=[1]")
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	parent, err := model.Open(filepath.Join(first, train.ModelDir))
	must(t, err)
	from := func(dir string, more ...string) []string {
		return append([]string{"train.run=" + filepath.Join(home, dir), "train.from=" + parent.Dir, "data.train=" + puzzles(t, 81), "data.column=solution", "data.layout=padded", "data.length=8",
			"train.steps=2", "train.batch=8", "runtime.threads=1", "seed=3"}, more...)
	}
	for name, c := range map[string]struct {
		settings []string
		want     []string
	}{
		"width":       {[]string{"network.hidden_size=32"}, []string{"network.hidden_size", "is 32, and model ", "first/model, which", "has 16", "leave it out"}},
		"all":         {[]string{"network.norm=rms", "network.time=adaln", "network.rows=2"}, []string{"network.norm", "is rms", "has layer", "network.time", "network.rows", "has its own"}},
		"tokenizer":   {[]string{"data.tokenizer=smiles"}, []string{"data.tokenizer", "is smiles", "has another"}},
		"file":        {[]string{"data.tokenizer=../../model/embedded/rxnmapper-albert"}, []string{"data.tokenizer", "has another"}},
		"ends":        {[]string{"data.bos=true"}, []string{"data.bos", "no such token"}},
		"foreign":     {[]string{"train.from=rxnmapper-albert", "network.hidden_size=32", "network.norm=rms"}, []string{"network.hidden_size", "network.norm", "has its own"}},
		"strange row": {[]string{"data.train=" + molecules(t), "data.column=smiles", "data.length=20"}, []string{"the vocabulary is that of model ", "first/model: ", "molecules.csv:2"}},
	} {
		_, err := run(t, context.Background(), from(name, c.settings...)...)
		t.Run(name, func(t *testing.T) { wantError(t, err, c.want...) })
	}
	second := "second"
	_, err = run(t, context.Background(), from(second, "network.hidden_size=16", "network.intermediate_size=0", "data.tokenizer=characters", "sampling.temperature=0.9")...)
	must(t, err)
	m, err := model.Open(filepath.Join(home, second, train.ModelDir))
	must(t, err)
	want := map[string]any{"planner": map[string]any{"name": "p2", "gamma": 0.5}, "sampling": map[string]any{"temperature": 0.9, "suppress_tokens": []any{1.0, float64(m.Config.Pad)}}}
	if diff := cmp.Diff(want, m.Generation); diff != "" {
		t.Errorf("generation_config.json: %s", diff)
	}
	if m.Manifest.Infill.Blank != "." || m.Manifest.Length.Policy != "fixed" {
		t.Errorf("blank %q, length %s; expected the parent's", m.Manifest.Infill.Blank, m.Manifest.Length.Policy)
	}
}

// TestAdviceWorks runs the command that a run which diverged gives.
func TestAdviceWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := run(t, context.Background(), small(t, dir, "optimizer.clip=0", "optimizer.warmup=0", "optimizer.schedule=constant", "optimizer.lr=1e8", "train.checkpoint_every=1")...)
	wantError(t, err, "mdmhost train ")
	words := strings.Fields(regexp.MustCompile("`mdmhost train (.*)`").FindStringSubmatch(err.Error())[1])
	sources, keys := config.Sources{}, map[string]string{"--run": "train.run", "--from": "train.from"}
	for i := 0; i < len(words); i += 2 {
		switch flag, value := words[i], words[i+1]; flag {
		case "--config":
			sources.File = value
		case "--set":
			key, value, _ := strings.Cut(value, "=")
			sources.Flags = append(sources.Flags, config.Assignment{Key: key, Value: value, Flag: "--set"})
		default:
			sources.Flags = append(sources.Flags, config.Assignment{Key: keys[flag], Value: value, Flag: flag})
		}
	}
	sources.Flags = append(sources.Flags, config.Assignment{Key: "optimizer.lr", Value: "1e-4", Flag: "--set"}) // ten times lower is not low enough here
	cfg, err := config.Load(sources)
	must(t, err)
	var out bytes.Buffer
	err = train.Run(context.Background(), cfg, host.Options{}, train.Streams{Err: &out})
	if err != nil && !contains(err.Error(), "expected a finite number") {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir+"-2", train.MetricsFile)); err != nil {
		t.Errorf("the command began no run: %v\n%s", err, &out)
	}
}
