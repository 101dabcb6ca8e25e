package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

// Assignment is one value given on the command line, in the order of the command line.
type Assignment struct {
	Key   string // dotted
	Value string
	Flag  string // how it was given: "--steps", "--set steps"
}

// setting is one value of one source, before it is checked.
type setting struct {
	key    string
	value  any
	origin Origin
}

const envPrefix = "MDMHOST_"

// EnvFile is the environment variable that stands for --config.
const EnvFile = "MDMHOST_CONFIG"

// reserved are variables that begin like settings and mean something else: those of benchmarks and of plugin processes.
var reserved = []string{EnvFile, "MDMHOST_PEERS", "MDMHOST_PLUGIN", "MDMHOST_LIFELINE_FD", "MDMHOST_SHARED_FD"}

// shortVariables are variables with names of their own that stand for a key. An empty one is as if it were not set, as with EnvFile.
var shortVariables = map[string]string{"MDMHOST_LOG": "plugins.log", "MDMHOST_PLUGIN_PATH": "plugins.path", "MDMHOST_REATTACH": "plugins.reattach"}

// foreignVariables are variables of other programs that stand for a key; the key's own variable outweighs them.
var foreignVariables = map[string]string{"HF_ENDPOINT": "hub.endpoint"}

func defaults() []setting {
	var out []setting
	for _, k := range Keys {
		if k.Default != nil {
			out = append(out, setting{k.Name, k.Default, Origin{Layer: LayerDefault}})
		}
	}
	return out
}

// fromEnv reads MDMHOST_* variables. The names of known keys are matched without regard to case; an option's or a
// session entry's name is taken in lower case.
func fromEnv(environ []string) ([]setting, error) {
	var out []setting
	provider := env.Provider("", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if !slices.Contains(reserved, name) {
				key, short := shortVariables[name]
				if short && value == "" {
					return "", nil
				}
				if !short {
					key = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "__", "."))
				}
				out = append(out, setting{key, Text(value), Origin{LayerEnv, name}})
			}
			return "", nil
		},
	})
	if _, err := provider.Read(); err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); foreignVariables[name] != "" && value != "" {
			out = append(out, setting{foreignVariables[name], Text(value), Origin{LayerEnv, name}})
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.origin.Place, b.origin.Place) })
	return out, nil
}

func fromFlags(given []Assignment) []setting {
	var out []setting
	for _, a := range given {
		out = append(out, setting{a.Key, Text(a.Value), Origin{LayerFlag, a.Flag}})
	}
	return out
}
