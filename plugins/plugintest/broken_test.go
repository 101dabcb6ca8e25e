package plugintest_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// faults are the fixtures of folder broken, with the rule that each breaks.
var faults = []struct {
	fault, check string
	severity     plugintest.Severity // "": Error
	kind         sampling.Kind       // "": planner
	also         []string            // rules whose errors follow from the fault
}{
	{fault: "opens-fixed", check: "fixed-positions"},
	{fault: "opens-twice", check: "positions-once"},
	{fault: "opens-written", check: "eligible"},
	{fault: "opens-waiting", check: "eligible"},
	{fault: "opens-beyond", check: "positions"},
	{fault: "opens-none", check: "positions"},
	{fault: "writes-mask", check: "mask-token"},
	{fault: "writes-beyond", check: "token-range"},
	{fault: "remasks-undeclared", check: "remask-declared"},
	{fault: "inserts", check: "insertion"},
	{fault: "clock-seed", check: "determinism"},
	{fault: "map-order", check: "determinism"},
	{fault: "never-opens", check: "termination"},
	{fault: "leaves-blanks", check: "termination"},
	{fault: "remasks-everything", check: "termination", severity: plugintest.Warning},
	{fault: "finishes-early", check: "termination", severity: plugintest.Warning},
	{fault: "forgot-need", check: "plan"},
	{fault: "fails-fixed", check: "fixed-rows", also: []string{"empty-row"}},
	{fault: "exits-at-fixed", check: "fixed-rows", also: []string{"empty-row"}},
	{fault: "loops-at-nan", check: "not-a-number"},
	{fault: "indexes-by-nan", check: "not-a-number"},
	{fault: "nan-metric", check: "metrics"},
	{fault: "nameless-metric", check: "metrics", severity: plugintest.Warning},
	{fault: "acts-as-past", check: "times"},
	{fault: "slow-in-long-rows", check: "long-row"},
	{fault: "few-rows", check: "batch-sizes"},
	{fault: "stops-at-empty", check: "empty-batch"},
	{fault: "keeps-slots", check: "slots"},
	{fault: "keeps-runs", check: "second-run"},
	{fault: "says-pure", check: "pure"},
	{fault: "peeks-at-neighbours", check: "row-independence"},
	{fault: "asks-for-more", check: "needs-declared"},
	{fault: "changes-needs", check: "needs-stable"},
	{fault: "few-decisions", check: "answers"},
	{fault: "prints-first", check: "handshake"},
	{fault: "exits-at-once", check: "handshake"},
	{fault: "protocol-two", check: "protocol-version"},
	{fault: "other-kind", check: "kind"},
	{fault: "bad-schema", check: "schema"},
	{fault: "default-out-of-bounds", check: "schema"},
	{fault: "takes-any-option", check: "unknown-option"},
	{fault: "takes-any-value", check: "option-range"},
	{fault: "refuses-default", check: "option-defaults"},
	{fault: "takes-any-type", check: "option-type"},
	{fault: "locks-when-cancelled", check: "cancellation"},
	{fault: "ignores-shutdown", check: "shutdown"},
	{fault: "outlives-its-host", check: "lifeline"},
	{fault: "catches-sigterm", check: "sigterm", severity: plugintest.Warning},
	{fault: "leaks", check: "memory", severity: plugintest.Warning},
	{fault: "leaks-fast", check: "memory", severity: plugintest.Warning},
	{fault: "prints-later", check: "stdout", severity: plugintest.Note},
	{fault: "changes-description", check: "description-stable"},
	{fault: "no-version", check: "description", severity: plugintest.Warning},
	{fault: "says-nothing", check: "by-hand", severity: plugintest.Warning},
	{fault: "loses-lock", check: "kill"},
	{fault: "answers-too-early", check: "order-of-calls", severity: plugintest.Warning},
	{fault: "loses-rows", check: "emits", kind: sampling.KindSampler},
	{fault: "takes-any-slot", check: "session", kind: sampling.KindSampler},
	{fault: "asks-without-end", check: "session", kind: sampling.KindSampler},
	{fault: "sampler-with-a-clock", check: "sampler-determinism", kind: sampling.KindSampler},
	{fault: "sampler-of-random-times", check: "sampler-determinism", kind: sampling.KindSampler},
	{fault: "sampler-of-batches", check: "sampler-rows", kind: sampling.KindSampler},
	{fault: "counts-its-graphs", check: "graph-determinism", kind: sampling.KindTrainer},
	{fault: "stops-gradients", check: "differentiable", kind: sampling.KindTrainer},
	{fault: "averages-its-loss", check: "spec", kind: sampling.KindTrainer},
	{fault: "ignores-free", check: "masking", severity: plugintest.Warning, kind: sampling.KindTrainer},
	{fault: "shows-clean-tokens", check: "masking", severity: plugintest.Warning, kind: sampling.KindTrainer},
	{fault: "rounds-its-loss", check: "differentiable", kind: sampling.KindTrainer},
}

// sound are the fixtures that are in order.
var sound = map[string]sampling.Kind{"sound": sampling.KindPlanner, "sound-rows": sampling.KindPlanner, "sound-sampler": sampling.KindSampler, "sound-trainer": sampling.KindTrainer}

// TestMain lets more tests run side by side than there are processors: most of them wait for what hangs.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// program builds the program of the fixtures, once.
func program(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "broken")
	if out, err := exec.Command("go", "build", "-o", path, "./broken").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// link gives the program the name of a fixture.
func link(t *testing.T, program, fixture string) string {
	path := filepath.Join(t.TempDir(), fixture)
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func examine(t *testing.T, kind sampling.Kind, path string) *plugintest.Report {
	t.Helper()
	report, err := plugintest.Check(t.Context(), plugintest.Program(supervise.Spec{Kind: kind, Path: path}), plugintest.Options{Seed: 1, Quick: true, Call: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each fault is found and called by its name, and nothing else is blamed for it. What is in order is told so: no finding but that of
// latency, which depends on how busy the machine is.
func TestFixtures(t *testing.T) {
	program := program(t)
	for name, kind := range sound {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range examine(t, kind, link(t, program, name)).Findings {
				if f.Check != "latency" {
					t.Errorf("%s %s: %s", f.Severity, f.Check, f.Problem)
				}
			}
		})
	}
	t.Run("RunBinary", func(t *testing.T) { plugintest.RunBinary(t, link(t, program, "sound-sampler")) }) // finds its kind
	for _, c := range faults {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			kind, severity := c.kind, c.severity
			if kind == "" {
				kind = sampling.KindPlanner
			}
			if severity == "" {
				severity = plugintest.Error
			}
			report, found := examine(t, kind, link(t, program, c.fault)), false
			for _, f := range report.Findings {
				found = found || f.Check == c.check && f.Severity == severity
				if f.Severity == plugintest.Error && f.Check != c.check && !slices.Contains(c.also, f.Check) {
					t.Errorf("blamed on %s: %s", f.Check, f.Problem)
				}
				if f.Problem == "" || f.Fix == "" {
					t.Errorf("%s says not what is wrong or what to do: %+v", f.Check, f)
				}
			}
			if !found {
				t.Errorf("expected a finding of %s (%s), found %+v", c.check, severity, report.Findings)
			}
		})
	}
}
