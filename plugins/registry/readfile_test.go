package registry_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

// A pipe in the place of a file is told, and never waited for; so is a file that is too large to be what its name says.
func TestWhatIsNoSmallFile(t *testing.T) {
	const kind = ": expected a file, found a folder or a device; put the file in its place"
	pipe := func(t *testing.T, name string) { must(t, syscall.Mkfifo(name, 0o644)) }
	large := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, name string) {
			write(t, name, "x")
			must(t, os.Truncate(name, size))
		}
	}
	for name, c := range map[string]struct {
		file string
		put  func(*testing.T, string)
		want string
	}{
		"manifest, pipe":  {"../calm/plugin.yaml", pipe, "plugin.yaml" + kind},
		"manifest, large": {"../calm/plugin.yaml", large(1<<20 + 1), "plugin.yaml: expected at most 1 MiB"},
		"sums, pipe":      {"../calm/SHA256SUMS", pipe, "SHA256SUMS" + kind},
		"sums, large":     {"../calm/SHA256SUMS", large(16<<20 + 1), "SHA256SUMS: expected at most 16 MiB"},
		"lock, pipe":      {"mdmhost.lock", pipe, "lock mdmhost.lock: mdmhost.lock" + kind},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			plugin(t, "../calm", nil)
			_ = os.Remove(c.file)
			c.put(t, c.file)
			_, _, err := install(t, p.Project, "../calm", false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("installed: error %v", err)
			}
			found, err := registry.Find("", "../calm", p, nil)
			if err == nil {
				_, err = p.Check(found)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("checked: error %v", err)
			}
		})
	}
	p := here(t)
	pipe(t, "../pipe")
	if _, _, err := install(t, p.Project, "../pipe", false); err == nil || !strings.Contains(err.Error(), "plugin from ../pipe: INVALID_CONFIG: is a pipe or a device") {
		t.Errorf("error %v", err)
	}
}

// "." and ".." are paths, also in a lock.
func TestTheWorkingDirectoryAsPlugin(t *testing.T) {
	here(t)
	plugin(t, "inner", nil)
	write(t, "mdmhost.lock", "version: 1\nplugins: {}\n")
	for dir, name := range map[string]string{"inner": ".", "inner/lib": ".."} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			p, err := registry.Find("", name, places(t, ""), nil)
			must(t, err)
			if p.Name != "calm" || p.Path != name || p.Place != registry.Given {
				t.Errorf("%+v", p)
			}
			_, err = check(t, name, "")
			must(t, err)
		})
	}
	must(t, os.Mkdir("deep", 0o755))
	plugin(t, ".", nil)
	for _, home := range []string{".", "deep"} {
		t.Run("locked from "+home, func(t *testing.T) {
			t.Chdir(home)
			up := map[string]string{".": ".", "deep": ".."}[home]
			write(t, "mdmhost.lock", "version: 1\nplugins: {}\n")
			p := places(t, "")
			all, err := p.Relock([]string{up})
			must(t, err)
			if len(all) != 1 || !all[0].Locked || all[0].Err != nil {
				t.Errorf("%+v", all)
			}
			all, err = p.Survey(nil)
			must(t, err)
			if len(all) != 1 || !all[0].Locked || all[0].Err != nil {
				t.Errorf("%+v in\n%s", all, read(t, "mdmhost.lock"))
			}
			must(t, p.Project.Remove(up))
			if strings.Contains(read(t, "mdmhost.lock"), "sha256") {
				t.Errorf("still pinned:\n%s", read(t, "mdmhost.lock"))
			}
		})
	}
}

// What a lock holds in the wrong place is told in plain words.
func TestLockOfOtherValues(t *testing.T) {
	for text, want := range map[string]string{
		"[1]":                      "x.lock: line 1: a list stands where another kind of value belongs; take the file from version control",
		"version: a":               "x.lock: line 1: the text `a` stands where another kind of value belongs",
		"version: 1\nplugins: [a]": "x.lock: line 2: a list stands where another kind",
	} {
		if _, err := registry.ParseLock("x.lock", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "!!") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
