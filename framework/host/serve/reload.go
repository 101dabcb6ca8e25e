package serve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// kept are settings that only a new start takes up.
var kept = []string{"serve.listen", "serve.connections", "serve.otlp", "serve.watch"}

// Reload reads the settings again and takes them up: at once and as a whole, or not at all. Requests on their way end with the
// settings that they began with. What changed, or what is wrong, is logged, counted, and told by /readyz. Reloads wait for each other.
func (s *Server) Reload(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.Load == nil {
		return fmt.Errorf("reload: the settings of this server have no source that could be read again")
	}
	status := reloadStatus{At: time.Now().UTC()}
	next, err := s.Load(ctx)
	var l *live
	if err == nil {
		l, err = newLive(next)
	}
	if err == nil && len(s.live.Load().tokens) > 0 && len(l.tokens) == 0 {
		err = config.Problems{{Origin: next.Config.Origin("serve.tokens"), Key: "serve.tokens", Text: "is given no more, and a reload lets nobody in without a token; put it back, or start the server anew"}}
	}
	if err == nil {
		err = s.Engine.Reload(ctx, next.Config)
	}
	if err != nil {
		status.Error = "the new settings are refused, the old ones stay; the server's log says why" // paths and values are not for everybody
		s.reload.Store(&status)
		s.metrics.reloads.WithLabelValues("refused").Inc()
		s.Logger.Error("the new settings are refused, the old ones stay", "error", err)
		return err
	}
	status.OK = true
	changed, stay := changes(s.loaded.Config, next.Config)
	status.Changed, status.Kept = keysOf(changed), keysOf(stay)
	s.loaded = next
	select {
	case s.taken <- struct{}{}:
	default: // the watch will look anyway
	}
	s.live.Store(l)
	s.reload.Store(&status)
	s.metrics.reloads.WithLabelValues("taken").Inc()
	s.metrics.reloaded.SetToCurrentTime()
	s.Logger.Info("reloaded", "changed", cmp.Or(textOf(changed), "nothing; models were opened anew"))
	if len(stay) > 0 {
		s.Logger.Warn("some settings need a new start", "kept", textOf(stay))
	}
	return nil
}

// change is a setting in which two configurations differ.
type change struct{ key, text string }

// changes lists the settings in which two configurations differ; those of kept stand apart.
func changes(before, after *config.Config) (changed, stay []change) {
	old, now := valuesOf(before), valuesOf(after)
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if old[key].value == now[key].value {
			continue
		}
		one := change{key, fmt.Sprintf("%s: %s -> %s", key, clip(orNone(old, key), 100), clip(orNone(now, key), 100))}
		if slices.Contains(kept, key) {
			stay = append(stay, one)
		} else {
			changed = append(changed, one)
		}
	}
	return changed, stay
}

// keysOf are the names alone: anybody may read them.
func keysOf(changes []change) (keys []string) {
	for _, c := range changes {
		keys = append(keys, c.key)
	}
	return keys
}

func textOf(changes []change) string {
	var texts []string
	for _, c := range changes {
		texts = append(texts, c.text)
	}
	return strings.Join(texts, "; ")
}

// value is one of a setting, and as logs show it.
type value struct{ value, shown string }

func valuesOf(c *config.Config) map[string]value {
	out := map[string]value{}
	for _, e := range c.Entries() {
		if e.Value != nil && e.Note == "" {
			out[e.Key] = value{fmt.Sprint(e.Value), fmt.Sprint(e.Shown())}
		}
	}
	return out
}

func orNone(values map[string]value, key string) string {
	if v, ok := values[key]; ok {
		return fmt.Sprintf("%q", v.shown)
	}
	return "none"
}
