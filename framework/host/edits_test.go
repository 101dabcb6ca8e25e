package host_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// withEnd copies a model of testdata and names a token as its end of text.
func withEnd(t *testing.T, model, eos string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/"+model)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir + "/config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/config.json", []byte(strings.Replace(string(text), "{", `{"eos_token_id": `+eos+`, `, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Settings strong enough leave no choice: what they do to the logits shows in every row.
func TestEditsOfLogits(t *testing.T) {
	distinct := func(s string) bool { return !strings.ContainsRune(s[1:], rune(s[0])) && s[1] != s[2] }
	for name, c := range map[string]struct {
		model, eos string
		settings   []string
		holds      func(s string) bool
	}{
		"penalty_lambda":     {"joint-l6v2", "", []string{"sampling.penalty_lambda=1000"}, func(s string) bool { return !strings.Contains(s, "aa") && !strings.Contains(s, "bb") }},
		"repetition_penalty": {"joint-l4v3", "", []string{"sampling.repetition_penalty=10000"}, func(s string) bool { return distinct(s[:3]) }},
		"eos_penalty":        {"joint-l4v3", "[1, 2]", []string{"sampling.eos_penalty=1000"}, func(s string) bool { return s == "aaaa" }},
		"logits_eos_inf":     {"joint-l4v3", "[1, 2]", []string{"sampling.logits_eos_inf=true"}, func(s string) bool { return s == "aaaa" }},
	} {
		t.Run(name, func(t *testing.T) {
			model := "testdata/" + c.model
			if c.eos != "" {
				model = withEnd(t, c.model, c.eos)
			}
			for _, head := range []string{"fused", "graph", "go"} {
				h := open(t, true, append(c.settings, "model="+model, "planner=sequential", "seed=3", "runtime.head="+head)...)
				count, _ := fill(t, h, 60)
				for s := range count {
					if !c.holds(s) {
						t.Errorf("head %s wrote %q", head, s)
					}
				}
			}
		})
	}
}

// The rule below drops the token that crosses top_p: with two tokens the less probable one, always.
func TestTopPRule(t *testing.T) {
	for rule, several := range map[string]bool{"cross": true, "below": false} {
		h := open(t, true, "model=testdata/joint-l6v2", "planner=sequential", "seed=3", "sampling.top_p=0.999", "sampling.top_p_rule="+rule)
		count, _ := fillAt(t, h, 60, 0.999)
		if len(count) > 1 != several {
			t.Errorf("rule %s: %d different rows", rule, len(count))
		}
	}
}

// Settings that do not fit the model are a usage error that lists all of them.
func TestSettingsThatDoNotFit(t *testing.T) {
	flags := []config.Assignment{{Key: "model", Value: "testdata/joint-l6v2", Flag: "--model"}}
	for _, setting := range []string{"sampling.eos_penalty=1", "sampling.logits_eos_inf=true", "sampling.eos_early_stop=true", "sampling.suppress_tokens=[99]"} {
		key, value, _ := strings.Cut(setting, "=")
		flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set"})
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	if err == nil {
		_ = h.Close()
	}
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("error %v, expected problems of settings", err)
	}
	says := map[string]string{"sampling.eos_penalty": "eos_token_id", "sampling.logits_eos_inf": "eos_token_id", "sampling.eos_early_stop": "eos_token_id", "sampling.suppress_tokens": "id 99, expected 0 to "}
	for _, p := range problems {
		if says[p.Key] == "" || !strings.Contains(p.Text, says[p.Key]) {
			t.Errorf("unexpected: %s", p)
		}
		delete(says, p.Key)
	}
	if len(says) > 0 {
		t.Errorf("not told: %v, in %v", says, err)
	}
}
