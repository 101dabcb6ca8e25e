package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settings returns, as texts, the settings that the answers depend on: two runs with the same settings, model and
// input give the same rows. Runtime, deadlines, batch and screens are left out, since tokens do not depend on them, but for a precision
// that is not the model's own; the seed is left out, since it may still have to be drawn.
func (c *Config) Settings() map[string]string {
	out := map[string]string{}
	for key, v := range c.values() {
		if strings.HasPrefix(key, "runtime.") || strings.HasPrefix(key, "plugins.") || strings.HasPrefix(key, "export.") || strings.HasPrefix(key, "serve.") || strings.HasPrefix(key, "hub.") || slices.Contains([]string{"batch", "out", "overwrite", "trace", "watch", "seed"}, key) {
			continue
		}
		out[key] = fmt.Sprint(v)
		if list, ok := v.([]string); ok && slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, " ") }) {
			out[key] = fmt.Sprintf("%q", list) // else one text with a blank reads like two
		}
	}
	if p := c.Runtime.Precision; p != Lookup("runtime.precision").Default {
		out["runtime.precision"] = p
	}
	return out
}

// SamplingSettings returns those of [Config.Settings] that are of the section sampling.
func (c *Config) SamplingSettings() map[string]string {
	all := c.Settings()
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, "sampling.") })
	return all
}
