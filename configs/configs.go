// Package configs holds the presets that `--config NAME` finds: one per method and one per runtime.
package configs

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var presets embed.FS

// Names lists the presets in alphabetical order.
func Names() []string {
	files, err := presets.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory is always there
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

// Read returns the text of a preset and whether there is one of that name.
func Read(name string) ([]byte, bool) {
	text, err := presets.ReadFile(path.Base(name) + ".yaml")
	return text, err == nil && path.Base(name) == name
}
