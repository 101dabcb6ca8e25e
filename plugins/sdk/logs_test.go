package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// captured returns a handler and a function that reads what it wrote.
func captured(t *testing.T) (slog.Handler, func() []map[string]any) {
	var out bytes.Buffer
	return logs{to: hclog.New(&hclog.LoggerOptions{Name: "calm", Level: hclog.Debug, Output: &out, JSONFormat: true})}, func() (lines []map[string]any) {
		for d := json.NewDecoder(&out); d.More(); {
			var line map[string]any
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		return lines
	}
}

func TestLogs(t *testing.T) {
	handler, written := captured(t)
	log := slog.New(handler)
	log.Debug("calm", "entropy", 0.5, "err", errors.New("late"), "took", time.Second)
	log.With("row", 7).WithGroup("cache").With("hits", 3).Warn("full", slog.Group("", "a", 1), slog.Group("by", "b", "two"))
	log.Log(t.Context(), slog.LevelDebug-1, "never")
	log.Error("msg", "msg", "another", "level", 3)
	got := written()
	for _, line := range got {
		delete(line, "@timestamp")
	}
	want := []map[string]any{
		{"@level": "debug", "@module": "calm", "@message": "calm", "entropy": .5, "err": "late", "took": "1s"},
		{"@level": "warn", "@module": "calm", "@message": "full", "row": 7., "cache.hits": 3., "cache.a": 1., "cache.by.b": "two"},
		{"@level": "error", "@module": "calm", "@message": "msg", "msg": "another", "level": 3.},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogsAreAHandler runs the standard library's checks on the lines in slog's own shape. hclog writes its own time.
func TestLogsAreAHandler(t *testing.T) {
	var written func() []map[string]any
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		if t.Name() == "TestLogsAreAHandler/zero-time" {
			t.Skip("hclog stamps every line by itself")
		}
		var handler slog.Handler
		handler, written = captured(t)
		return handler
	}, func(t *testing.T) map[string]any {
		line := written()[0]
		nested := map[string]any{slog.TimeKey: line["@timestamp"], slog.LevelKey: line["@level"], slog.MessageKey: line["@message"]}
		for name, v := range line {
			if name[0] != '@' {
				nest(nested, name, v)
			}
		}
		return nested
	})
}

// nest puts "a.b" into the map a.
func nest(to map[string]any, name string, v any) {
	for i := range name {
		if name[i] == '.' {
			inner, ok := to[name[:i]].(map[string]any)
			if !ok {
				inner = map[string]any{}
				to[name[:i]] = inner
			}
			nest(inner, name[i+1:], v)
			return
		}
	}
	to[name] = v
}
