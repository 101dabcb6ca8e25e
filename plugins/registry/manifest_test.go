package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

const whole = `name: my-planner
kind: planner
version: 0.1.0-rc.1+linux
protocol: 1
summary: "one line: really"
license: Apache-2.0
entry: {linux/amd64: ./bin/a, linux/arm64: bin/b}
args: [--fast, ""]
setup: ./setup
environment: [HF_HOME]
files: [README.md, 'wheels/*.whl']
`

func TestParseManifest(t *testing.T) {
	got, err := registry.ParseManifest("plugin.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := &registry.Manifest{Name: "my-planner", Kind: sampling.KindPlanner, Version: "0.1.0-rc.1+linux", Protocol: 1, Summary: "one line: really", License: "Apache-2.0",
		Entry: map[string]string{"linux/amd64": "bin/a", "linux/arm64": "bin/b"}, Args: []string{"--fast", ""}, Setup: "setup",
		Environment: []string{"HF_HOME"}, Files: []string{"README.md", "wheels/*.whl"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = registry.ParseManifest("plugin.yaml", []byte(strings.ReplaceAll(whole, "{linux/amd64: ./bin/a, linux/arm64: bin/b}", "run")))
	if err != nil {
		t.Fatal(err)
	}
	if entry, err := got.EntryHere(); err != nil || entry != "run" {
		t.Errorf("entry %q, %v", entry, err)
	}
}

func TestManifestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string // what of the whole manifest is replaced
		want     []string
	}{
		"key":         {"summary:", "sumary:", []string{`:5: "sumary": unknown key; did you mean summary?`, "1: summary: is missing"}},
		"name":        {"name: my-planner", "name: My_Planner", []string{`:1: name: expected small letters`, `found "My_Planner"`}},
		"hyphen":      {"name: my-planner", "name: my-", []string{`:1: name: expected small letters, digits and hyphens between them`, `found "my-"`}},
		"kind":        {"kind: planner", "kind: plan", []string{`:2: kind: expected planner, sampler or trainer, found "plan"`}},
		"version":     {"0.1.0-rc.1+linux", "0.1", []string{`:3: version: expected a semantic version such as 0.1.0, found "0.1"`}},
		"protocol":    {"protocol: 1", "protocol: one", []string{`:4: protocol: expected`, `found "one"`}},
		"twice":       {"kind: planner", "kind: planner\nkind: planner", []string{":3: kind: given twice, first in line 2; keep one"}},
		"escape":      {"./bin/a", "../bin/a", []string{`:7: entry of linux/amd64: expected the path of an executable within the plugin's folder, found "../bin/a"`}},
		"absolute":    {"setup: ./setup", "setup: /bin/sh", []string{`:9: setup: expected`, `found "/bin/sh"`}},
		"platform":    {"linux/amd64", "linux", []string{`:7: entry: expected a platform such as linux/amd64, found "linux"`}},
		"variable":    {"HF_HOME", "HF-HOME", []string{`:10: environment: expected the name of an environment variable`}},
		"pattern":     {"README.md", "'[a'", []string{`:11: files: expected a glob pattern`}},
		"upwards":     {"README.md", "a/../../b", []string{`:11: files: expected a glob pattern`}},
		"list":        {"[HF_HOME]", "HF_HOME", []string{`:10: environment: expected a list, such as [a, b], found "HF_HOME"`}},
		"two lines":   {`"one line: really"`, `"one\nline"`, []string{":5: summary: expected one line"}},
		"yaml":        {"name: my", "name: [", []string{"plugin.yaml:1: "}},
		"two of them": {"files:", "---\nfiles:", []string{"expected one YAML document"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := registry.ParseManifest("plugin.yaml", []byte(strings.Replace(whole, c.from, c.to, 1)))
			var wrong *registry.ManifestError
			if !errors.As(err, &wrong) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(strings.ReplaceAll(err.Error(), "\n  ", "\n:"), want) {
					t.Errorf("expected %q in %v", want, err)
				}
			}
		})
	}
	for _, text := range []string{"", "- a\n", "just text\n", "&a [*a]\n"} {
		if _, err := registry.ParseManifest("plugin.yaml", []byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	// All problems at once.
	_, err := registry.ParseManifest("plugin.yaml", []byte("name: X\nkind: y\nversion: z\ncolour: red\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "plugin.yaml: 8 problems\n") {
		t.Errorf("error %v", err)
	}
}

func TestNoEntryHere(t *testing.T) {
	m, err := registry.ParseManifest("plugin.yaml", []byte(strings.Replace(whole, "{linux/amd64: ./bin/a, linux/arm64: bin/b}", "{plan9/mips: a}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.EntryHere(); err == nil || !strings.Contains(err.Error(), "has no entry for "+runtime.GOOS+"/"+runtime.GOARCH+", only for plan9/mips") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("entry: &a {linux/amd64: *a}"))
	f.Add([]byte("files: [&x 'a', *x]\nfiles: null\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := registry.ParseManifest("plugin.yaml", text)
		if (m == nil) == (err == nil) {
			t.Fatalf("manifest %v, error %v", m, err)
		}
		if err != nil {
			return
		}
		for _, entry := range m.Entry {
			if !filepath.IsLocal(entry) {
				t.Fatalf("the entry %q leads out of the folder", entry)
			}
		}
		if m.Setup != "" && !filepath.IsLocal(m.Setup) {
			t.Fatalf("the setup %q leads out of the folder", m.Setup)
		}
	})
}

func TestReadManifest(t *testing.T) {
	dir := t.TempDir()
	if _, err := registry.ReadManifest(dir); err == nil || !strings.Contains(err.Error(), "a plugin's folder holds a plugin.yaml") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte("nam: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.ReadManifest(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "plugin.yaml")+": 8 problems") {
		t.Errorf("error %v", err)
	}
}
