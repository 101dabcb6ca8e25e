package plugintest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Mistakes in Python are found as those in Go are.
func TestPythonFixtures(t *testing.T) {
	python, set := os.LookupEnv("PYTHON_KIT")
	if !set {
		t.Skip("PYTHON_KIT names no Python, so no fixture in Python is checked; scripts/test-python-kit.sh runs these tests")
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file   string
		checks []string // the rule that is broken, and those that follow
	}{
		{"draws_by_itself.py", []string{"determinism"}},
		{"needs_a_blank.py", []string{"fixed-rows", "empty-row"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			launch := supervise.Spec{Kind: sampling.KindPlanner, Path: python, Args: []string{filepath.Join(folder, "broken", "python", c.file)},
				Env: []string{"PYTHONPATH=" + filepath.Join(folder, "..", "python"), "PYTHONDONTWRITEBYTECODE=1"}}
			report, err := plugintest.Check(t.Context(), plugintest.Program(launch), plugintest.Options{Seed: 1, Quick: true, Call: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(report.Findings, func(f plugintest.Finding) bool { return f.Check == c.checks[0] && f.Severity == plugintest.Error }) {
				t.Errorf("expected a finding of %s, found %+v", c.checks[0], report.Findings)
			}
			for _, f := range report.Findings {
				if f.Severity == plugintest.Error && !slices.Contains(c.checks, f.Check) {
					t.Errorf("blamed on %s: %s", f.Check, f.Problem)
				}
			}
		})
	}
}
