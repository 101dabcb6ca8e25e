package sweep_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/sweep"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

func base(t *testing.T, given ...config.Assignment) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: given})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Settings that are lists themselves stay whole, in a point and in a preset.
func TestExpandLists(t *testing.T) {
	preset := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(preset, []byte("sampling: {stop: [\"the end\", \"a:b\"], begin_suppress_tokens: [3, 4]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]config.Sampling{
		"entropy k=1 sampling.begin_suppress_tokens=[3,4]": {BeginSuppressTokens: []int32{3, 4}},
		"entropy config=" + preset:                         {BeginSuppressTokens: []int32{3, 4}, Stop: []string{"the end", "a:b"}},
	} {
		points, err := sweep.Expand(base(t), text)
		if err != nil || len(points) != 1 {
			t.Errorf("%s: %d points, error %v", text, len(points), err)
			continue
		}
		got := points[0].Config.Sampling
		if diff := cmp.Diff(want, config.Sampling{BeginSuppressTokens: got.BeginSuppressTokens, Stop: got.Stop}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestExpand(t *testing.T) {
	type shown struct{ Series, Name, Planner, K, Sampler, Steps string }
	for text, want := range map[string][]shown{
		"confidence": {{"confidence", "confidence", "confidence", "<nil>", "masked", "0"}},
		"confidence k=1,2": {{"confidence", "confidence k=1", "confidence", "1", "masked", "0"},
			{"confidence", "confidence k=2", "confidence", "2", "masked", "0"}},
		"confidence  k=2 steps=8,16 sampler=infogain": {{"confidence k=2 sampler=infogain", "confidence k=2 steps=8 sampler=infogain", "confidence", "2", "infogain", "8"},
			{"confidence k=2 sampler=infogain", "confidence k=2 steps=16 sampler=infogain", "confidence", "2", "infogain", "16"}},
		"margin k=1,2 steps=3,4": {{"margin", "margin k=1 steps=3", "margin", "1", "masked", "3"}, {"margin", "margin k=1 steps=4", "margin", "1", "masked", "4"},
			{"margin", "margin k=2 steps=3", "margin", "2", "masked", "3"}, {"margin", "margin k=2 steps=4", "margin", "2", "masked", "4"}},
		"p2-rdm-cond steps=5": {{"p2-rdm-cond steps=5", "p2-rdm-cond steps=5", "p2", "<nil>", "masked", "5"}},
		"config=p2-gillespie": {{"config=p2-gillespie", "config=p2-gillespie", "p2", "<nil>", "gillespie", "0"}},
		"entropy sampler.name=gillespie sampling.temperature=0": {{"entropy sampler.name=gillespie sampling.temperature=0", "entropy sampler.name=gillespie sampling.temperature=0", "entropy", "<nil>", "gillespie", "0"}},
	} {
		points, err := sweep.Expand(base(t), text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []shown
		for _, p := range points {
			settings := p.Config.Settings()
			k := settings["planner.k"]
			if k == "" {
				k = "<nil>"
			}
			got = append(got, shown{p.Series, p.Name, p.Config.Planner.Name, k, p.Config.Sampler.Name, settings["steps"]})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"":                     `point "": expected a planner with options, such as 'confidence k=1,2,4'`,
		"eb gamma":             `point "eb gamma": expected key=value, found "gamma"`,
		"eb gamma=":            `point "eb gamma=": expected key=value, found "gamma="`,
		"eb steps=many":        "steps",
		"config=no-such":       "no-such",
		"eb sampling.warmth=1": "sampling.warmth",
	} {
		if _, err := sweep.Expand(base(t), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every embedded sweep has points that planners and samplers take.
func TestEmbeddedSweeps(t *testing.T) {
	if names := configs.Sweeps(); !slices.Contains(names, "sudoku") || !slices.Contains(names, "maze") || !slices.Contains(names, "molecule") || !slices.Contains(names, "stars") {
		t.Errorf("sweeps %v", names)
	}
	for _, name := range configs.Sweeps() {
		f, err := sweep.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Title == "" || f.Rows != 1000 || len(f.Points) < 4 {
			t.Errorf("sweep %s: title %q, %d rows, %d points", name, f.Title, f.Rows, len(f.Points))
		}
		var given []config.Assignment
		for _, set := range f.Set {
			key, value, _ := strings.Cut(set, "=")
			given = append(given, config.Assignment{Key: key, Value: value, Flag: name})
		}
		for _, text := range f.Points {
			points, err := sweep.Expand(base(t, given...), text)
			if err != nil {
				t.Fatalf("sweep %s: %v", name, err)
			}
			for _, p := range points {
				d, err := planners.All()[p.Config.Planner.Name]().Describe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Config.PlannerOptions(d.OptionsSchema); err != nil {
					t.Errorf("sweep %s, point %s: %v", name, p.Name, err)
				}
				if d, err = samplers.All()[p.Config.Sampler.Name]().Describe(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Config.SamplerOptions(d.OptionsSchema); err != nil {
					t.Errorf("sweep %s, point %s: %v", name, p.Name, err)
				}
			}
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"points:\n  - eb\nspeed: 3\n": "field speed not found",
		"points: eb":                  "cannot unmarshal",
	} {
		path := filepath.Join(dir, "mine.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sweep.Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := sweep.Read("nothing"); err == nil || !strings.HasSuffix(err.Error(), "name a file, or one of maze, molecule, stars, sudoku") {
		t.Errorf("%v", err)
	}
}
