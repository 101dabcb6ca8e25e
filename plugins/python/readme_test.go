package python_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// The planners and the sampler of the README keep the protocol as they stand there.
func TestReadmeExamplesKeepTheProtocol(t *testing.T) {
	python, set := os.LookupEnv("PYTHON_KIT")
	if !set {
		t.Skip("PYTHON_KIT names no Python, so no example is run; scripts/test-python-kit.sh runs these tests")
	}
	kit, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```python\n(#!/usr/bin/env python3\n.*?serve\\((\\w+)\\).*?)```").FindAllSubmatch(text, -1)
	if len(examples) != 4 {
		t.Fatalf("%d whole examples, expected 4", len(examples))
	}
	for _, example := range examples {
		name := string(example[2])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), name+".py")
			if err := os.WriteFile(script, example[1], 0o644); err != nil {
				t.Fatal(err)
			}
			kind := sampling.KindPlanner
			if name == "pacer" {
				kind = sampling.KindSampler
			}
			launch := supervise.Spec{Kind: kind, Path: python, Args: []string{script}, Env: []string{"PYTHONPATH=" + kit, "PYTHONDONTWRITEBYTECODE=1"}}
			report, err := plugintest.Check(t.Context(), plugintest.Program(launch), plugintest.Options{Seed: 1, Quick: true, Call: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Severity != plugintest.Note {
					t.Errorf("%s: %s", f.Check, f.Problem)
				}
			}
		})
	}
}
