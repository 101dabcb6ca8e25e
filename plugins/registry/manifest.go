// Package registry knows the plugins that are no part of this program: what a plugin's folder says of itself (plugin.yaml), which
// files belong to it and what they hashed to (SHA256SUMS), where plugins are looked for, how they are installed, and which
// version of each a project has chosen (mdmhost.lock). It starts none of them, but for the program that a plugin wants to
// have run when it is installed.
package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// ManifestFile is the name of the manifest in a plugin's folder.
const ManifestFile = "plugin.yaml"

// Manifest is what plugin.yaml says of a plugin.
type Manifest struct {
	Name     string        // small letters, digits and hyphens; what --planner, --sampler and --trainer take
	Kind     sampling.Kind // planner, sampler or trainer
	Version  string        // semantic version, such as 0.1.0
	Protocol int           // version of the plugin protocol
	Summary  string        // one line
	License  string        // SPDX expression, such as Apache-2.0

	// Entry is the executable for each platform, such as "linux/amd64", relative to the folder; under "" the one for all.
	Entry map[string]string
	Args  []string // of the entry
	Setup string   // program that is run once in the folder when the plugin is installed; "": none

	Environment []string // names of variables that the plugin would like to see
	Files       []string // glob patterns of further files; a folder stands for all that is in it
}

// ReadManifest reads the plugin.yaml of a folder. An error lists everything that is wrong with it.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	text, err := readFile(os.DirFS(dir), ManifestFile, maxYAML)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("plugin %s: %w; a plugin's folder holds a %s", dir, err, ManifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", dir, err)
	}
	return ParseManifest(path, text)
}

// EntryHere returns the executable for this machine, relative to the folder.
func (m *Manifest) EntryHere() (string, error) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	for _, platform := range []string{here, ""} {
		if name, ok := m.Entry[platform]; ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s %s %s: has no entry for %s, only for %s; ask its author for one, or build it from source",
		m.Kind, m.Name, m.Version, here, strings.Join(slices.Sorted(maps.Keys(m.Entry)), ", "))
}

// programs are the files that must be executable: entries and setup.
func (m *Manifest) programs() []string {
	out := slices.Collect(maps.Values(m.Entry))
	if m.Setup != "" {
		out = append(out, m.Setup)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
