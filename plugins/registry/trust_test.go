package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

func check(t *testing.T, name, path string) (string, error) {
	t.Helper()
	p := places(t, path)
	found, err := registry.Find("", name, p, nil)
	must(t, err)
	return p.Check(found)
}

// Every kind of change to an installed plugin is found and named; lock accepts it.
func TestChangedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		file   string
		want   string
	}{
		"program":  {func(t *testing.T, dir string) { write(t, dir+"/run", "#!/bin/sh\nevil\n") }, "run", "run: expected sha256:"},
		"manifest": {func(t *testing.T, dir string) { write(t, dir+"/plugin.yaml", manifest+"args: [--evil]\n") }, "plugin.yaml", "plugin.yaml: expected sha256:"},
		"new":      {func(t *testing.T, dir string) { write(t, dir+"/lib/b.py", "") }, "lib/b.py", "lib/b.py: belongs to the plugin and is not listed, found sha256:e3b0"},
		"gone":     {func(t *testing.T, dir string) { must(t, os.Remove(dir+"/lib/a.py")) }, "lib/a.py", "lib/a.py: is missing, expected sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			_, _, err := install(t, p.Project, plugin(t, "../calm", nil), false)
			must(t, err)
			digest, err := check(t, "calm", "")
			must(t, err)
			c.change(t, ".mdmhost/plugins/calm")
			_, err = check(t, "calm", "")
			var changed *registry.ChangedError
			if !errors.As(err, &changed) || len(changed.Differences) != 1 || changed.Differences[0].File != c.file || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "accept the change with `mdmhost plugin lock calm`") {
				t.Fatalf("expected %q, found %v", c.want, err)
			}
			all, err := p.Relock([]string{"calm"})
			must(t, err)
			after, err := check(t, "calm", "")
			if err != nil || after == digest || len(all) != 1 || all[0].Digest != after {
				t.Errorf("digest %s after %s, %v, %+v", after, digest, err, all)
			}
		})
	}
}

// Who changes a file and SHA256SUMS with it is found by the lock, and one without a lock is not.
func TestLockDecides(t *testing.T) {
	p := here(t)
	_, _, err := install(t, p.Project, plugin(t, "../calm", nil), false)
	must(t, err)
	lock := read(t, "mdmhost.lock")
	write(t, ".mdmhost/plugins/calm/run", "#!/bin/sh\nevil\n")
	_, err = p.Relock(nil)
	must(t, err)
	if _, err := check(t, "calm", ""); err != nil {
		t.Errorf("after a new lock: %v", err)
	}
	write(t, "mdmhost.lock", lock)
	if _, err := check(t, "calm", ""); err == nil || !strings.Contains(err.Error(), "differs from mdmhost.lock\n  digest: expected sha256:") {
		t.Errorf("error %v", err)
	}
	for text, want := range map[string]string{
		"version: 2\n":                              "expected version 1 of the format, found 2",
		"version: 1\nplugin: {}\n":                  "field plugin not found",
		"version: 1\nplugins: [":                    "did not find",
		strings.ReplaceAll(lock, "sha256:", "md5:"): "calm: digest: expected sha256: and 64 digits",
		strings.ReplaceAll(lock, "calm:", "CALM:"):  `"CALM": expected the name of a plugin or a path`,
	} {
		write(t, "mdmhost.lock", text)
		if _, err := check(t, "calm", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: expected %q, found %v", text, want, err)
		}
	}
	must(t, os.Remove("mdmhost.lock"))
	if _, err := check(t, "calm", ""); err != nil {
		t.Error(err)
	}
}

// A SHA256SUMS that cannot be read is an error until it is accepted, which writes it anew.
func TestDamagedSums(t *testing.T) {
	p := here(t)
	_, _, err := install(t, p.Project, plugin(t, "../calm", nil), false)
	must(t, err)
	sums := read(t, ".mdmhost/plugins/calm/SHA256SUMS")
	write(t, ".mdmhost/plugins/calm/SHA256SUMS", "what?\n")
	if _, err := check(t, "calm", ""); err == nil || !strings.Contains(err.Error(), ".mdmhost/plugins/calm/SHA256SUMS:1: expected a line of sha256sum") {
		t.Errorf("error %v", err)
	}
	_, err = p.Relock(nil)
	must(t, err)
	if _, err := check(t, "calm", ""); err != nil || read(t, ".mdmhost/plugins/calm/SHA256SUMS") != sums {
		t.Errorf("error %v", err)
	}
	must(t, os.Remove(".mdmhost/plugins/calm/SHA256SUMS")) // the lock still has the digest
	write(t, ".mdmhost/plugins/calm/run", "#!/bin/sh\nevil\n")
	if _, err := check(t, "calm", ""); err == nil || !strings.Contains(err.Error(), "differs from mdmhost.lock") {
		t.Errorf("error %v", err)
	}
}

// A plugin by its path is its author's: it is checked where the lock has it, and against its own SHA256SUMS.
func TestGivenPaths(t *testing.T) {
	p := here(t)
	plugin(t, "calm", nil)
	write(t, "bare", "#!/bin/sh\n")
	for _, path := range []string{"./calm", "./bare"} {
		file := map[string]string{"./calm": "calm/run", "./bare": "bare"}[path]
		if digest, err := check(t, path, ""); err != nil || digest != "" {
			t.Errorf("%s: %q, %v", path, digest, err)
		}
		_, err := p.Relock([]string{path})
		must(t, err)
		write(t, file, "#!/bin/sh\nchanged\n")
		for _, again := range []string{path, filepath.Join(mustAbs(t, path)), "../project/" + path[2:]} {
			if _, err := check(t, again, ""); err == nil || !strings.Contains(err.Error(), "differs from mdmhost.lock") {
				t.Errorf("%s: error %v", again, err)
			}
		}
		_, err = p.Relock(nil)
		must(t, err)
		if digest, err := check(t, path, ""); err != nil || digest == "" {
			t.Errorf("%s: %q, %v", path, digest, err)
		}
	}
	lock, err := registry.ReadLock("mdmhost.lock")
	must(t, err)
	if len(lock.Plugins) != 2 || lock.Plugins["./calm"].Version != "0.1.0" || lock.Plugins["./bare"].Version != "" {
		t.Errorf("lock %+v", lock.Plugins)
	}
	all, err := p.Survey(nil)
	must(t, err)
	if len(all) != 2 || all[0].Err != nil || all[1].Err != nil {
		t.Errorf("survey %+v", all)
	}
	must(t, os.Remove("bare"))
	all, err = p.Survey(nil)
	must(t, err)
	if all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "plugin ./bare: mdmhost.lock pins it, and it is not there: `mdmhost plugin remove ./bare`") {
		t.Errorf("survey %+v", all)
	}
	must(t, p.Project.Remove("./bare"))
	write(t, "calm/SHA256SUMS", strings.Repeat("0", 64)+"  run\n")
	must(t, os.Remove("mdmhost.lock"))
	if _, err := check(t, "./calm", ""); err == nil || !strings.Contains(err.Error(), "differs from SHA256SUMS") {
		t.Errorf("error %v", err)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	must(t, err)
	return abs
}

// The user's own plugins have a lock of their own; a project may pin them, too.
func TestUserPlugins(t *testing.T) {
	p := here(t)
	_, _, err := install(t, p.User, plugin(t, "../calm", nil), false)
	must(t, err)
	if _, err := os.Stat("mdmhost.lock"); !os.IsNotExist(err) {
		t.Errorf("the project has a lock: %v", err)
	}
	_, err = check(t, "calm", "")
	must(t, err)
	before := read(t, p.User.Lock)
	_, err = p.Relock([]string{"calm"})
	must(t, err)
	if diff := cmp.Diff(before, read(t, p.User.Lock)); diff != "" {
		t.Error(diff)
	}
	_, _, err = install(t, p.User, plugin(t, "../calm", map[string]string{"run": "#!/bin/sh\nnewer\n"}), true)
	must(t, err)
	if _, err := check(t, "calm", ""); err == nil || !strings.Contains(err.Error(), "differs from mdmhost.lock") {
		t.Errorf("error %v", err)
	}
	must(t, os.Remove("mdmhost.lock"))
	if _, err := check(t, "calm", ""); err != nil {
		t.Error(err)
	}
	// What the lock pins and nobody has is told.
	write(t, "mdmhost.lock", before)
	must(t, p.User.Remove("calm"))
	all, err := p.Survey(nil)
	must(t, err)
	if len(all) != 1 || all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "mdmhost.lock pins version 0.1.0, and it is not installed") {
		t.Errorf("survey %+v", all)
	}
	if _, err := p.Survey([]string{"clm"}); err == nil {
		t.Error("a plugin that is not there was surveyed")
	}
}
