package main

import (
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// settings collects what the flags of one call say about the configuration, in the order of the command line.
type settings struct {
	file  string
	given []config.Assignment
}

// flags are the names of flags whose key is called differently.
var flags = map[string]string{
	"planner": "planner.name", "sampler": "sampler.name", "runtime": "runtime", "temperature": "sampling.temperature",
	"top-p": "sampling.top_p", "top-k": "sampling.top_k", "min-p": "sampling.min_p",
}

// words stand for the values of flags in the help.
var words = map[string]string{"model": "NAME|DIR", "prompt": "TEXT", "infill": "TEXT", "prompts": "FILE", "out": "FILE", "shard": "I/N", "trace": "FILE", "format": "text|jsonl", "to": "TARGET", "python": "FILE", "browser": "FILE"}

// newSettings adds --config, --set and the flags of the given names to a command. A flag that stands for another key there
// than elsewhere is given as "flag=key".
func newSettings(c *cobra.Command, names ...string) *settings {
	s := &settings{}
	c.Flags().StringVar(&s.file, "config", "", "`FILE` of settings, or the name of a preset (environment: MDMHOST_CONFIG)")
	c.Flags().Var(&assign{s}, "set", "one setting, such as planner.gamma=0.2; may be given again")
	for _, name := range names {
		key := name
		if other, ok := flags[name]; ok {
			key = other
		}
		if flag, own, ok := strings.Cut(name, "="); ok {
			name, key = flag, own
		}
		v := &value{settings: s, flag: "--" + name, key: key}
		help := "runtime (" + strings.Join(config.Lookup("runtime.kind").Enum, ", ") + "), or a provider of onnx (cpu, cuda, auto and so on)"
		if k := config.Lookup(key); k != nil {
			v.kind, help = k.Kind, strings.ReplaceAll(k.Help, "`", "") // pflag takes quoted words for the name of the value
		}
		if v.word = words[name]; v.word == "" {
			v.word = map[config.Kind]string{config.Int: "N", config.Uint: "N", config.Float: "X"}[v.kind]
		}
		f := c.Flags().VarPF(v, name, "", help)
		if v.kind == config.Bool {
			f.NoOptDefVal = "true"
		}
	}
	complete(c)
	return s
}

// load merges all sources.
func (s *settings) load() (*config.Config, error) {
	return config.Load(config.Sources{File: s.file, Environ: os.Environ(), Flags: s.given})
}

// options are what the configuration says to the host besides its parts.
func options(cfg *config.Config) host.Options {
	log := hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.LevelFromString(cfg.Plugins.Log), Output: os.Stderr})
	return host.Options{Deadlines: host.Deadlines(cfg.Plugins), Logger: log, Plugins: cfg.Plugins}
}

// value is a flag that sets a key. Its text is checked with all other settings, so that all problems show at once.
type value struct {
	settings        *settings
	flag, key, word string
	kind            config.Kind
}

func (v *value) Set(text string) error {
	v.settings.given = append(v.settings.given, config.Assignment{Key: v.key, Value: text, Flag: v.flag})
	return nil
}

func (v *value) String() string { return "" }

// Type is the word in the help; "bool" shows none.
func (v *value) Type() string {
	switch {
	case v.kind == config.Bool:
		return "bool"
	case v.word != "":
		return v.word
	}
	return "NAME"
}

// assign is the flag --set key=value.
type assign struct{ settings *settings }

func (a *assign) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return usagef("expected key=value, found %q", text)
	}
	a.settings.given = append(a.settings.given, config.Assignment{Key: key, Value: value, Flag: "--set " + key})
	return nil
}

func (a *assign) String() string { return "" }
func (a *assign) Type() string   { return "key=value" }
