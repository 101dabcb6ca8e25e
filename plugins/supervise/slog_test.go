package supervise_test

import (
	"bytes"
	"encoding/json"
	"log"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

func init() {
	plugins["reads-entropy"] = misbehave(func(r sdk.Row) { _ = float64(r.LogpCurrent[0]) })
	plugins["reads-logits"] = misbehave(func(r sdk.Row) { _ = r.LogitsAt(0) })
	plugins["reads-top"] = misbehave(func(r sdk.Row) { _, _ = r.TopAt(0) })
	plugins["logs"] = misbehave(func(r sdk.Row) {
		slog.Debug("thinking", "row", r.Index)
		slog.With("temperature", 0.5).Warn("no row is calm", slog.Group("cache", "hits", 3, "age", time.Minute))
		log.Print("by the package log")
	})
}

// TestAuthorsLogs: what a plugin says with log/slog arrives in the host's log with its level and attributes.
func TestAuthorsLogs(t *testing.T) {
	var out bytes.Buffer
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &out, JSONFormat: true})
	p, planner := started(t, supervise.Spec{Name: "logs", Logger: logger})
	if _, err := plan(planner, step()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil { // the log is whole when the process is gone
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for d := json.NewDecoder(&out); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "@timestamp")
		delete(line, "timestamp")
		delete(line, "@module")
		message, _ := line["@message"].(string)
		if _, seen := got[message]; !seen { // the step has two rows
			got[message] = line
		}
	}
	for message, want := range map[string]map[string]any{
		"thinking":           {"@level": "debug", "@message": "thinking", "row": 4.},
		"no row is calm":     {"@level": "warn", "@message": "no row is calm", "temperature": .5, "cache.hits": 3., "cache.age": "1m0s"},
		"by the package log": {"@level": "info", "@message": "by the package log"},
	} {
		if diff := cmp.Diff(want, got[message]); diff != "" {
			t.Errorf("%s:\n%s", message, diff)
		}
	}
}

// TestStatisticsThatNobodyAskedFor: the commonest mistake of authors is told as what it is.
func TestStatisticsThatNobodyAskedFor(t *testing.T) {
	for name, want := range map[string]string{
		"reads-entropy": "planner reads-entropy: INTERNAL: panic in the plugin: runtime error: index out of range [0] with length 0 (slog_test.go:*); a statistic that the plugin does not declare (sdk.Needs) is empty; the plugin's log has the stack*",
		"reads-logits":  "planner reads-logits: INTERNAL: panic in the plugin: LogitsAt: the row has no logits; declare sdk.Logits in sdk.Needs (slog_test.go:*); *",
		"reads-top":     "planner reads-top: INTERNAL: panic in the plugin: TopAt: the row has no most probable tokens; declare sdk.TopK(k) in sdk.Needs (slog_test.go:*); *",
	} {
		_, planner := started(t, supervise.Spec{Name: name})
		_, err := plan(planner, step())
		check(t, err, sampling.Internal, want)
	}
}
