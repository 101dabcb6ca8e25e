package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// Whatever a file, a variable and a flag hold, loading ends with a configuration or with problems, each with its place.
func FuzzLoad(f *testing.F) {
	for _, name := range configs.Names() {
		text, _ := configs.Read(name)
		f.Add(string(text), "STEPS", "3", "num", "2")
	}
	f.Add("a: &x {b: *x}", "PLANNER__", "x", "runtime.session_config.", "")
	f.Add("runtime: {session_config: {a/b: 1, '': 2}}", "PLANNER", "", "planner.name.x", "[")
	f.Add("- 1", "PLANNER__A__B", "x", "planner/name", "x")
	f.Fuzz(func(t *testing.T, text, variable, value, key, flag string) {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Sources{
			File: file, Environ: []string{"MDMHOST_" + variable + "=" + value}, Flags: []config.Assignment{{Key: key, Value: flag, Flag: "--set"}},
		})
		if err == nil {
			for _, e := range c.Entries() {
				if e.Value != nil && e.Origin.Layer == "" {
					t.Errorf("%s = %v has no origin", e.Key, e.Value)
				}
			}
			return
		}
		problems, ok := err.(config.Problems)
		if !ok {
			t.Fatalf("expected Problems, found %T: %v", err, err)
		}
		for _, p := range problems {
			if p.Text == "" || (p.Origin.Place == "" && p.Key == "") {
				t.Errorf("problem without place or text: %#v", p)
			}
		}
	})
}
