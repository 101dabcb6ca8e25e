package configs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/planners"
)

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
		if section := config.Lookup("runtime.provider"); c.Planner.Name != name && !slices.Contains(section.Enum, name) {
			t.Errorf("preset %s: expected a planner or provider of that name, found planner %s", name, c.Planner.Name)
		}
	}
}
