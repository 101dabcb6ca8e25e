package config

import (
	"fmt"
	"slices"
	"strings"
)

// spelled puts in the kind of runtime where a layer names a provider of onnx alone: `--runtime cuda` is runtime.kind=onnx with
// runtime.provider=cuda, whatever kind a weaker layer chose. A provider that onnx lacks says nothing of the kind.
func spelled(layer []setting) []setting {
	out := make([]setting, 0, len(layer)+1)
	for _, s := range layer {
		if text, _ := convert(String, s.value); s.key == "runtime" && text != KindONNX && slices.Contains(providers[KindONNX], fmt.Sprint(text)) {
			out = append(out, setting{"runtime.kind", KindONNX, s.origin})
		}
		out = append(out, s)
	}
	return out
}

// checkRuntime refuses settings of another kind of runtime than the one that was chosen. Those of a weaker layer than the choice, such as
// the providers of a file whose kind the command line changes, are left out like the options of another plugin.
func (c *Config) checkRuntime() (problems Problems) {
	kind := c.Runtime.Kind
	for key, origin := range c.origins {
		name := key
		if of, _, ok := entryOf(key); ok {
			name = of
		}
		kinds := runtimeOf[name]
		value, takes := "", map[string][]string(nil)
		switch key {
		case "runtime.provider":
			value, takes = c.Runtime.Provider, providers
		case "runtime.head":
			value, takes = c.Runtime.Head, heads
		}
		if value != "" {
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(takes[kind], value) })
		}
		if origin.Layer == LayerDefault || kinds == nil || slices.Contains(kinds, kind) {
			continue
		}
		if origin.Layer < c.origins["runtime.kind"].Layer {
			c.left = append(c.left, Entry{Key: key, Value: c.merged[key], Origin: origin, Note: "goes with runtime " + strings.Join(kinds, " or ")})
			switch key {
			case "runtime.provider":
				c.Runtime.Provider = Lookup(key).Default.(string)
			case "runtime.head":
				c.Runtime.Head = Lookup(key).Default.(string)
			}
			continue
		}
		if value != "" {
			value += " "
		}
		problems = append(problems, Problem{origin, key, fmt.Sprintf(value+"goes with runtime.kind %s, and that is %s; leave it out, or add --runtime %s", strings.Join(kinds, " or "), kind, kinds[0])})
	}
	problems = append(problems, c.checkCPU()...)
	if len(c.Runtime.Device) == 0 {
		problems = append(problems, Problem{c.origins["runtime.device"], "runtime.device", "expected the number of a device or several, found an empty list"})
	}
	if need := required[kind]; need != "" && !c.Given(need) {
		problems = append(problems, Problem{c.origins["runtime.kind"], "runtime.kind", fmt.Sprintf("%s needs %s; add --set %s=...", kind, need, need)})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return problems
}

// checkCPU refuses what the provider cpu of onnx has no use for, or leaves it out where a weaker layer than the choice of the CPU gave it.
func (c *Config) checkCPU() (problems Problems) {
	if c.Runtime.Kind != KindONNX || c.Runtime.Provider != "cpu" {
		return nil
	}
	for key, origin := range c.origins {
		switch of, _, _ := entryOf(key); {
		case key == "runtime.device" && len(c.Runtime.Device) > 0 && !slices.Equal(c.Runtime.Device, []int{0}):
		case key == "runtime.cuda_graph" && c.Runtime.CUDAGraph, of == "runtime.provider_options":
		default:
			continue
		}
		if origin.Layer >= c.origins["runtime.provider"].Layer {
			problems = append(problems, Problem{origin, key, "the provider is cpu, which has none; leave it out, or name the provider that it is for, such as --runtime cuda"})
			continue
		}
		c.left = append(c.left, Entry{Key: key, Value: c.merged[key], Origin: origin, Note: "goes with another provider than cpu"})
		switch key {
		case "runtime.device":
			c.Runtime.Device = []int{0}
		case "runtime.cuda_graph":
			c.Runtime.CUDAGraph = false
		default:
			_, name, _ := entryOf(key)
			delete(c.Runtime.ProviderOptions, name)
		}
	}
	return problems
}
