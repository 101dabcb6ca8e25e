package config

import (
	"maps"
	"slices"
	"strings"
)

// Entry is one line of `config print`.
type Entry struct {
	Key    string
	Value  any // nil where nothing was given
	Origin Origin
	Note   string // why the value does not count, or ""
}

// Entries returns every value of the configuration with its origin, in the order of [Keys]; options stand behind the
// name of their plugin.
func (c *Config) Entries() []Entry {
	values := c.values()
	var out []Entry
	for _, k := range Keys {
		prefix := k.Name + "."
		if k.Kind != Map {
			v, ok := values[k.Name]
			if !ok {
				v = nil
			}
			out = append(out, Entry{Key: k.Name, Value: v, Origin: c.origins[k.Name]})
			if prefix = strings.TrimSuffix(k.Name, "name"); prefix == k.Name {
				continue
			}
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if strings.HasPrefix(key, prefix) && Lookup(key) == nil {
				out = append(out, Entry{Key: key, Value: values[key], Origin: c.origins[key]})
			}
		}
	}
	return append(out, c.left...)
}

// Left returns the options that were given for another plugin than the one chosen, and therefore do not count.
func (c *Config) Left() []Entry { return c.left }

// values returns the merged values by dotted key.
func (c *Config) values() map[string]any {
	out := maps.Clone(c.merged)
	out["format"] = c.Format // derived where nobody gave it
	return out
}
