package plugintest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// longest is the deadline of tests in which nothing hangs.
const longest = time.Minute

// bent is a planner in process with one mistake in its Plan.
type bent struct {
	sampling.Planner
	plan func(*sampling.Step, []sampling.Decision)
}

func (b bent) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	if err := b.Planner.Plan(ctx, step, out); err != nil {
		return err
	}
	b.plan(step, out)
	return nil
}

// What only values in this process can do wrong, or do as processes do, is found: each by its rule and no other.
func TestInProcessFaults(t *testing.T) {
	for check, plan := range map[string]func(*sampling.Step, []sampling.Decision){
		"step-unchanged": func(step *sampling.Step, _ []sampling.Decision) {
			for _, r := range step.Rows {
				clear(r.P1)
			}
		},
		"plan":      func(*sampling.Step, []sampling.Decision) { panic("out of cheese") },
		"metrics":   func(_ *sampling.Step, out []sampling.Decision) { setMetric(out) },
		"positions": func(_ *sampling.Step, out []sampling.Decision) { openMinusOne(out) },
	} {
		t.Run(check, func(t *testing.T) {
			report, err := Check(t.Context(), Planner(func() sampling.Planner { return bent{byP1(), plan} }), Options{Seed: 3, Quick: true, Call: longest})
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() {
				t.Error("nothing was found")
			}
			for _, f := range report.Findings {
				if f.Severity == Error && f.Check != check {
					t.Errorf("blamed on %s: %s", f.Check, f.Problem)
				}
			}
		})
	}
}

func setMetric(out []sampling.Decision) {
	zero := 0.0
	for i := range out {
		out[i].Metrics = map[string]float64{"mean": zero / zero}
	}
}

func openMinusOne(out []sampling.Decision) {
	for i := range out {
		out[i].Open = append(out[i].Open, -1)
	}
}

// A planner that hangs is left behind at its deadline.
func TestHangs(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	report, err := Check(t.Context(), Planner(func() sampling.Planner {
		return bent{byP1(), func(*sampling.Step, []sampling.Decision) { <-gate }}
	}), Options{Seed: 3, Quick: true, Call: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) == 0 || report.Findings[0].Check != "plan" || !strings.Contains(report.Findings[0].Problem, "no answer within 50ms") {
		t.Errorf("expected that Plan does not answer, found %+v", report.Findings)
	}
}

// Runs have the options that are asked for, and those that the plugin refuses are told.
func TestSettings(t *testing.T) {
	for settings, want := range map[string]string{`{"k":5}`: "", `{"k":0}`: `Start with the options {"k":0}: expected an answer, found the error INVALID_CONFIG: option k: `} {
		report, err := Check(t.Context(), Planner(byP1), Options{Seed: 3, Quick: true, Call: longest, Settings: []byte(settings)})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" != report.OK() || want != "" && !strings.HasPrefix(report.Findings[0].Problem, want) {
			t.Errorf("%s: found %+v", settings, report.Findings)
		}
	}
}

// A seed brings a report back, and another one other rows.
func TestSeed(t *testing.T) {
	problem := func(seed uint64) string {
		report, err := Check(t.Context(), Planner(func() sampling.Planner {
			return sdk.NewPlanner("fixed", func(struct{}) sdk.PlanRow {
				return func(r sdk.Row) sdk.Decision {
					for i, f := range r.Flags {
						if f&sampling.Fixed != 0 {
							return r.Open(r.At(i))
						}
					}
					return r.Open(r.Eligible())
				}
			})
		}), Options{Seed: seed, Quick: true, Call: longest})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Check == "fixed-positions" })
		if at < 0 {
			t.Fatalf("expected a finding of fixed-positions, found %+v", report.Findings)
		}
		return report.Findings[at].Problem
	}
	if a, b := problem(5), problem(5); a != b {
		t.Errorf("seed 5 finds %q, then %q", a, b)
	}
	if a := problem(6); !strings.HasSuffix(a, "(seed 6)") {
		t.Errorf("the problem does not name its seed: %q", a)
	}
}

// The page has every rule, as the table has it.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "plugins", "conformance.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?s)(<!-- rules -->\n).*?(<!-- end of rules -->\n)`)
	want := section.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(rulesPage(), "$", "$$")+"${2}")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !section.Match(text) || want != string(text) {
		t.Errorf("%s has not the rules of the table; run UPDATE=1 go test ./plugins/plugintest -run TestPage", path)
	}
}

// Every rule has a name of its own and says what and why.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] || r.Text == "" || r.Why == "" || r.Theme == "" {
			t.Errorf("rule %+v: the id is taken, or a text is missing", r)
		}
		seen[r.ID] = true
	}
	for _, c := range table() {
		for _, id := range c.after {
			if !seen[id] {
				t.Errorf("%s waits for %s, which is no rule", c.ID, id)
			}
		}
	}
}
