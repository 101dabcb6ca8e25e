// Package configs holds the presets that `--config NAME` finds, one per method and one per runtime, and the sweeps of
// `mdmhost bench sampler --sweep NAME`.
package configs

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var presets embed.FS

//go:embed sweeps/*.yaml
var sweeps embed.FS

// Names lists the presets in alphabetical order.
func Names() []string { return names(presets, ".") }

// Sweeps lists the sweeps in alphabetical order.
func Sweeps() []string { return names(sweeps, "sweeps") }

func names(folder embed.FS, dir string) []string {
	files, err := folder.ReadDir(dir)
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

// Sweep returns the text of a sweep and whether there is one of that name.
func Sweep(name string) ([]byte, bool) {
	text, err := sweeps.ReadFile("sweeps/" + path.Base(name) + ".yaml")
	return text, err == nil && path.Base(name) == name
}
