package plugintest

import (
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Run checks the planner that factory makes, in process: each check is a subtest, errors fail, warnings and notes are logged.
func Run(t *testing.T, factory func() sampling.Planner) {
	t.Helper()
	tell(t, Planner(factory))
}

// RunSampler is [Run] for samplers.
func RunSampler(t *testing.T, factory func() sampling.Sampler) {
	t.Helper()
	tell(t, Sampler(factory))
}

// RunTrainer is [Run] for trainers.
func RunTrainer(t *testing.T, factory func() spec.Trainer) {
	t.Helper()
	tell(t, Trainer(factory))
}

// RunBinary checks the plugin that a program serves, in any language: with what only a process can do wrong, such as printing
// before the handshake and outliving its host.
func RunBinary(t *testing.T, path string, args ...string) {
	t.Helper()
	launch, err := Open(t.Context(), supervise.Spec{Path: path, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, Program(launch))
}

// tell runs the checks and reports each as a subtest.
func tell(t *testing.T, target Target) {
	t.Helper()
	report, err := Check(t.Context(), target, Options{Seed: 1, Quick: true, Call: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		t.Run(c.Theme+"/"+c.Check, func(t *testing.T) {
			for _, f := range report.Findings {
				if f.Check != c.Check {
					continue
				}
				say := t.Logf
				if f.Severity == Error {
					say = t.Errorf
				}
				say("%s: %s\nfix: %s", f.Severity, f.Problem, f.Fix)
			}
			if c.Outcome == Skipped {
				t.Logf("not judged: %s", c.Reason)
			}
		})
	}
}
