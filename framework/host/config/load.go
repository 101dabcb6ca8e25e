package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/nearest"
)

// Sources is where a configuration comes from besides the defaults.
type Sources struct {
	File    string       // path of a file or name of a preset; empty: MDMHOST_CONFIG, else none
	Environ []string     // NAME=value, as from os.Environ
	Flags   []Assignment // in the order of the command line
}

// Load reads every source and returns the merged configuration. The error is of type [Problems] and lists everything
// that is wrong in all sources at once; the configuration is then that of all other values, for further checks.
func Load(s Sources) (*Config, error) {
	file, fileProblems := readFile(s)
	environ, err := fromEnv(s.Environ)
	if err != nil {
		return nil, err
	}
	return merge([][]setting{defaults(), nil, file, environ, fromFlags(s.Flags)}, fileProblems)
}

// WithModel returns the configuration with the model's own settings slipped in between defaults and file. text is the
// generation_config.json, name stands in messages. Of its keys only planner, sampler, sampling, steps and length are
// the host's (a Hugging Face file may hold others).
func (c *Config) WithModel(name string, text []byte) (*Config, error) {
	all, problems := parseFile(name, text, LayerModel)
	own := slices.DeleteFunc(all, func(s setting) bool {
		first, _, _ := strings.Cut(s.key, ".")
		return !slices.Contains([]string{"planner", "sampler", "sampling", "steps", "length"}, first)
	})
	layers := slices.Clone(c.layers)
	layers[1] = own
	return merge(layers, problems)
}

// WithDefault returns the configuration with another default of one key, which every source outweighs.
func (c *Config) WithDefault(key string, value any) (*Config, error) {
	layers := slices.Clone(c.layers)
	layers[0] = append(slices.Clone(layers[0]), setting{key, value, Origin{Layer: LayerDefault}})
	return merge(layers, nil)
}

// With returns the configuration with more values, as strong as flags.
func (c *Config) With(more ...Assignment) (*Config, error) {
	layers := slices.Clone(c.layers)
	layers[4] = append(slices.Clone(layers[4]), fromFlags(more)...)
	return merge(layers, nil)
}

func readFile(s Sources) ([]setting, Problems) {
	name, origin := s.File, Origin{LayerFlag, "--config"}
	if name == "" {
		for _, e := range s.Environ {
			if v, ok := strings.CutPrefix(e, EnvFile+"="); ok {
				name, origin = v, Origin{LayerEnv, EnvFile}
			}
		}
	}
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, os.PathSeparator) {
		if preset, ok := configs.Read(name); ok {
			return parseFile(name+".yaml", preset, LayerFile)
		}
		return nil, Problems{{origin, "", fmt.Sprintf("no file or preset %q%s", name, nearest.DidYouMean(name, configs.Names()))}}
	}
	if err != nil {
		return nil, Problems{{origin, "", err.Error()}}
	}
	return parseFile(name, text, LayerFile)
}

// merge checks every setting of every layer and lets later layers win. Beside an error it returns what is sound.
func merge(layers [][]setting, problems Problems) (*Config, error) {
	c := &Config{layers: layers, origins: map[string]Origin{}, merged: map[string]any{}}
	k := koanf.New("/")
	owner := map[string]string{} // section -> plugin that its options were given for
	for _, layer := range layers {
		flat := map[string]any{}
		for _, s := range spelled(layer) {
			key, value, err := check(s)
			if err != nil {
				problems = append(problems, Problem{s.origin, s.key, err.Error()})
				continue
			}
			flat[path(key)] = value
			c.origins[key], c.merged[key] = s.origin, value
		}
		for _, section := range plugins {
			if name, ok := flat[section+"/name"].(string); ok {
				c.leave(k, section, owner[section], name, flat)
				owner[section] = name
			}
		}
		if err := k.Load(confmap.Provider(flat, "/"), nil); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	if err := k.Unmarshal("", c); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	problems = append(problems, c.finish()...)
	problems = append(problems, c.checkRuntime()...)
	return c, problems.err()
}

// leave takes out the options that a weaker layer gave to another plugin than the one that is now chosen, and those that
// the model gave to the same one: whoever names a plugin begins with its own defaults.
func (c *Config) leave(k *koanf.Koanf, section, owner, chosen string, flat map[string]any) {
	for _, name := range k.MapKeys(section) {
		key := section + "." + name
		if _, again := flat[path(key)]; name == "name" || again {
			continue
		}
		note := "belongs to " + section + " " + owner
		if owner == chosen {
			if c.origins[key].Layer != LayerModel {
				continue
			}
			note = "goes with the model's own choice of " + section + ", and " + chosen + " was named anew"
		}
		c.left = append(c.left, Entry{Key: key, Value: k.Get(path(key)), Origin: c.origins[key], Note: note})
		delete(c.origins, key)
		delete(c.merged, key)
		k.Delete(path(key))
	}
}

// check returns the full key and the typed value of a setting.
func check(s setting) (string, any, error) {
	key := s.key
	if full, ok := shorthands[key]; ok {
		key = full
		if text, _ := convert(String, s.value); s.key == "runtime" && slices.Contains(Lookup("runtime.provider").Enum, fmt.Sprint(text)) {
			key = "runtime.provider"
		}
	}
	if of, name, ok := entryOf(key); ok {
		text, err := mapEntry(of, name, s.value)
		return key, text, err
	}
	if _, _, ok := option(key); ok {
		return key, s.value, nil
	}
	known := Lookup(key)
	if s.key == "runtime" {
		either := *known // the message names both
		either.Enum = slices.Concat(known.Enum, Lookup("runtime.provider").Enum)
		known = &either
	}
	if known == nil {
		return "", nil, fmt.Errorf("unknown key%s", suggest(s))
	}
	value, err := known.parse(s.value)
	return key, value, err
}

// sessionGroups are the first parts of all names of session entries; ONNX Runtime itself takes any name in silence.
var sessionGroups = []string{"session", "optimization", "ep", "mlas", "memory"}

// mapEntry returns the text of an entry of a map: what ONNX Runtime, its providers and headers take is text.
func mapEntry(of, name string, value any) (string, error) {
	if group, _, ok := strings.Cut(name, "."); of == "runtime.session_config" && (!ok || !slices.Contains(sessionGroups, group)) {
		return "", fmt.Errorf("no session entry of ONNX Runtime begins with %q%s", group, nearest.DidYouMean(group, sessionGroups))
	}
	switch v := value.(type) {
	case Text:
		return string(v), nil
	case string, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	case bool:
		return map[bool]string{true: "1", false: "0"}[v], nil
	}
	return "", fmt.Errorf("expected a text or number for the entry %s, found %s", name, quote(value))
}

// suggest names the nearest key, spelt as the source spells keys.
func suggest(s setting) string {
	candidates := append([]string{"runtime", "sampling"}, plugins...)
	for _, k := range Keys {
		candidates = append(candidates, k.Name)
	}
	near := nearest.Word(s.key, candidates)
	if near == "" {
		return "; `mdmhost config print` lists the keys"
	}
	if s.origin.Layer == LayerEnv {
		near = envPrefix + strings.ToUpper(strings.ReplaceAll(near, ".", "__"))
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

// finish derives and checks what depends on several keys.
func (c *Config) finish() Problems {
	var problems Problems
	if !c.Given("format") && strings.HasSuffix(c.Out, ".jsonl") {
		c.Format = "jsonl"
		c.origins["format"] = Origin{c.Origin("out").Layer, c.Origin("out").Place + " ends in .jsonl"}
	}
	var inputs []string
	for _, key := range []string{"prompt", "infill", "prompts"} {
		if c.Given(key) {
			inputs = append(inputs, fmt.Sprintf("%s (%s)", key, c.Origin(key)))
		}
	}
	if len(inputs) > 1 {
		problems = append(problems, Problem{Key: "input", Text: fmt.Sprintf("expected one of prompt, infill and prompts, found %s; leave one", strings.Join(inputs, " and "))})
	}
	if _, err := shard.Parse(c.Shard); err != nil {
		problems = append(problems, Problem{c.Origin("shard"), "shard", err.Error()})
	} else if c.Shard != "" && c.Seed == nil {
		problems = append(problems, Problem{c.Origin("shard"), "shard", "needs the seed of the whole run, or every shard would draw its own; add --seed N, the same for all"})
	}
	if c.Details && c.Format != "jsonl" {
		problems = append(problems, Problem{c.Origin("details"), "details", "has no place in text answers; add --format jsonl"})
	}
	return problems
}
