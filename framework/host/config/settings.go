package config

import (
	"fmt"
	"slices"
	"strings"
)

// Settings returns, as texts, the settings that the answers depend on: two runs with the same settings, model and
// input give the same rows. Runtime, deadlines, batch and screens are left out, since tokens do not depend on them; the seed is
// left out, since it may still have to be drawn.
func (c *Config) Settings() map[string]string {
	out := map[string]string{}
	for key, v := range c.values() {
		if strings.HasPrefix(key, "runtime.") || strings.HasPrefix(key, "plugins.") || strings.HasPrefix(key, "export.") || slices.Contains([]string{"batch", "out", "overwrite", "trace", "watch", "seed"}, key) {
			continue
		}
		out[key] = fmt.Sprint(v)
		if list, ok := v.([]string); ok && slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, " ") }) {
			out[key] = fmt.Sprintf("%q", list) // else one text with a blank reads like two
		}
	}
	return out
}
