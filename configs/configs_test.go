package configs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// decodings are presets that carry the name of a way of decoding, or of a command, not of their planner.
var decodings = map[string]bool{"cfg": true, "credit": true, "ddpm_cache": true, "serve": true}

func TestEveryPresetLoads(t *testing.T) {
	names := configs.Names()
	for _, want := range []string{"random", "sequential", "confidence", "margin", "entropy", "p2", "eb", "cpu", "cuda", "auto"} {
		if _, ok := configs.Read(want); !ok {
			t.Errorf("no preset %s among %v", want, names)
		}
	}
	for _, name := range names {
		text, _ := configs.Read(name)
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s.yaml: expected a comment that says what the preset does", name)
		}
		c, err := config.Load(config.Sources{File: name})
		if err != nil {
			t.Fatalf("preset %s: %v", name, err)
		}
		d, err := planners.All()[c.Planner.Name]().Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.PlannerOptions(d.OptionsSchema); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
		if d, err = samplers.All()[c.Sampler.Name]().Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SamplerOptions(d.OptionsSchema); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
		if strings.HasPrefix(name, "train-") {
			trains(t, name, c)
		} else if section := config.Lookup("runtime.provider"); !of(c.Planner.Name, name) && !of(c.Sampler.Name, name) && !slices.Contains(section.Enum, name) && !slices.Contains(config.Lookup("runtime.kind").Enum, name) && !decodings[name] {
			t.Errorf("preset %s: expected a planner, sampler or provider of that name, found planner %s, sampler %s", name, c.Planner.Name, c.Sampler.Name)
		}
	}
}

// of tells whether a preset is named after a plugin, or is one of its several.
func of(plugin, preset string) bool { return preset == plugin || strings.HasPrefix(preset, plugin+"-") }

// trains holds a preset of training against its trainer, its data and its network, as far as they need no files.
func trains(t *testing.T, name string, c *config.Config) {
	t.Helper()
	d, err := trainers.All()[c.Trainer.Name]().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.TrainerOptions(d.OptionsSchema); err != nil {
		t.Errorf("preset %s: %v", name, err)
	}
	file := filepath.Join(t.TempDir(), "rows.txt")
	if c.Data.Column != "" {
		file = filepath.Join(t.TempDir(), "rows.csv")
	}
	if err := os.WriteFile(file, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Data.Train = []string{file}
	if err := c.Data.Validate(); err != nil {
		t.Errorf("preset %s: %v", name, err)
	}
	if c.Train.Precision != "float16" || c.Train.Steps < 1000 {
		t.Errorf("preset %s: precision %s, %d steps; expected a whole run that ends in a small file", name, c.Train.Precision, c.Train.Steps)
	}
}
