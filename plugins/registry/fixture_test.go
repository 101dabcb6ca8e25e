package registry_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

const manifest = `name: calm
kind: planner
version: 0.1.0
protocol: 1
summary: a test
license: Apache-2.0
entry: run
files: [README.md, lib]
`

// plugin writes a plugin's folder; files overwrite or, when empty, take away.
func plugin(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	all := map[string]string{"plugin.yaml": manifest, "run": "#!/bin/sh\n", "README.md": "calm", "lib/a.py": "a = 1\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text != "" {
			write(t, filepath.Join(dir, name), text)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix([]byte(text), []byte("#!")) {
		mode = 0o755
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree is the content of all files below a folder, by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			out[name] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// here makes an empty project the working directory, with a user's folder beside it.
func here(t *testing.T) registry.Places {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "project", "x"), "x")
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Chdir(filepath.Join(dir, "project"))
	return places(t, "")
}

func places(t *testing.T, path string) registry.Places {
	t.Helper()
	p, err := registry.FindPlaces(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// install installs from a source and returns what the setup printed.
func install(t *testing.T, h registry.Home, source string, force bool) (*registry.Installed, string, error) {
	t.Helper()
	var log bytes.Buffer
	i, err := h.Install(t.Context(), registry.Installation{Source: source, Force: force, Own: []string{"eb", "p2"}, Log: &log})
	return i, log.String(), err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
