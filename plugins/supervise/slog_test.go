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

	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

func init() {
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
