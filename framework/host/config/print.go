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
	out := map[string]any{
		"model": c.Model, "runtime.kind": c.Runtime.Kind, "runtime.provider": c.Runtime.Provider,
		"runtime.threads": c.Runtime.Threads, "runtime.device": c.Runtime.Device, "runtime.library": c.Runtime.Library,
		"runtime.library_dirs": c.Runtime.LibraryDirs, "runtime.head": c.Runtime.Head, "runtime.optimize": c.Runtime.Optimize,
		"runtime.arena": c.Runtime.Arena, "runtime.warmup": c.Runtime.Warmup,
		"plugins.start_timeout": c.Plugins.StartTimeout, "plugins.call_timeout": c.Plugins.CallTimeout, "plugins.log": c.Plugins.Log, "planner.name": c.Planner.Name, "sampler.name": c.Sampler.Name,
		"sampling.temperature": c.Sampling.Temperature, "sampling.top_k": c.Sampling.TopK, "sampling.top_p": c.Sampling.TopP,
		"sampling.min_p": c.Sampling.MinP, "sampling.suppress_tokens": c.Sampling.SuppressTokens, "sampling.draw": c.Sampling.Draw,
		"num": c.Num, "batch": c.Batch, "steps": c.Steps, "length": c.Length, "prompt": c.Prompt, "infill": c.Infill,
		"prompts": c.Prompts, "format": c.Format, "details": c.Details, "out": c.Out, "overwrite": c.Overwrite,
		"trace": c.Trace, "watch": c.Watch,
	}
	if c.Seed != nil {
		out["seed"] = *c.Seed
	}
	for name, v := range c.Runtime.SessionConfig {
		out[sessionConfig+"."+name] = v
	}
	for section, part := range map[string]Part{"planner": c.Planner, "sampler": c.Sampler} {
		for name, v := range part.Options {
			out[section+"."+name] = v
		}
	}
	return out
}
