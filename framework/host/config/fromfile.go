package config

import (
	"encoding/json"
	"fmt"
)

// FromFile returns what a file, or a preset by its name, sets, for [Config.With]; flag stands in messages.
func FromFile(name, flag string) (out []Assignment, err error) {
	cfg, err := Load(Sources{File: name})
	if err != nil {
		return nil, err
	}
	for _, e := range cfg.Entries() {
		if e.Origin.Layer != LayerFile {
			continue
		}
		value := fmt.Sprint(e.Value)
		switch list := e.Value.(type) {
		case []string, []int, []int32, []any: // texts may hold blanks
			text, err := json.Marshal(list)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Key, err)
			}
			value = string(text)
		}
		out = append(out, Assignment{Key: e.Key, Value: value, Flag: flag})
	}
	return out, nil
}
