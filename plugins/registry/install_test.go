package registry_test

import (
	"archive/tar"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

// What is packed in any form is installed as it was, and the same files make the same bytes.
func TestPackAndInstall(t *testing.T) {
	p := here(t)
	source := plugin(t, "../calm", map[string]string{"lib/__pycache__/a.pyc": "made here", "notes.txt": "not part of it"})
	want := map[string]string{"plugin.yaml": manifest, "run": "#!/bin/sh\n", "README.md": "calm", "lib/a.py": "a = 1\n"}
	var digest string
	for _, form := range []struct{ out, source string }{
		{"../calm.tar.gz", "../calm.tar.gz"}, {"../again.tar.gz", "../again.tar.gz"}, {"oci:../layout:0.1.0", "oci:../layout"}, {"oci:../layout:latest", "oci:../layout:latest"}, {"", source},
	} {
		if form.out != "" {
			packed, err := registry.Pack(t.Context(), source, form.out)
			must(t, err)
			digest = packed.Sums.Digest()
		}
		i, _, err := install(t, p.Project, form.source, false)
		if err != nil {
			t.Fatalf("%s: %v", form.source, err)
		}
		if i.Digest != digest || i.Listed != (form.out != "") || i.Before != nil {
			t.Errorf("%s: %+v, expected %s", form.source, i, digest)
		}
		got := tree(t, ".mdmhost")
		sums := got["plugins/calm/SHA256SUMS"]
		delete(got, "plugins/calm/SHA256SUMS")
		if diff := cmp.Diff(want, below(got, "plugins/calm/")); diff != "" || strings.Count(sums, "\n") != len(want) {
			t.Errorf("%s: %s\n%s", form.source, diff, sums)
		}
		if info, err := os.Stat(".mdmhost/plugins/calm/run"); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: run has mode %v, %v", form.source, info.Mode(), err)
		}
		lock, err := registry.ReadLock("mdmhost.lock")
		must(t, err)
		if diff := cmp.Diff(map[string]registry.Pin{"calm": {Version: "0.1.0", Digest: digest, Source: form.source}}, lock.Plugins); diff != "" {
			t.Errorf("%s: %s", form.source, diff)
		}
	}
	if read(t, "../calm.tar.gz") != read(t, "../again.tar.gz") {
		t.Error("two archives of the same files differ")
	}
	if _, _, err := install(t, p.Project, "oci:../layout", false); err == nil || !strings.Contains(err.Error(), "several tags: 0.1.0, latest; name one") {
		t.Errorf("error %v", err)
	}
	if _, _, err := install(t, p.Project, "oci:../layout:2", false); err == nil || !strings.Contains(err.Error(), "tag 2: not found") {
		t.Errorf("error %v", err)
	}
}

func below(files map[string]string, folder string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[strings.TrimPrefix(name, folder)] = text
	}
	return out
}

// A pattern takes what a shell's would; what is hidden is named.
func TestPatterns(t *testing.T) {
	here(t)
	dir := plugin(t, "../calm", map[string]string{
		"plugin.yaml": strings.Replace(manifest, "[README.md, lib]", "['*', '.[a-c]*', 'l?b/*.py']", 1),
		".venv/x":     "made here", ".conf": "c", "lib/b.txt": "b", "SHA256SUMS": "not read when it is packed"})
	packed, err := registry.Pack(t.Context(), dir, "../x.tar.gz")
	must(t, err)
	if diff := cmp.Diff([]string{".conf", "README.md", "lib/a.py", "lib/b.txt", "plugin.yaml", "run"}, slices.Sorted(maps.Keys(packed.Sums))); diff != "" {
		t.Error(diff)
	}
}

// A source that is not as it should be changes nothing.
func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		files  map[string]string
		want   string
	}{
		"nothing":       {"../none", nil, "there is nothing at this path; name a folder"},
		"no manifest":   {"../calm", map[string]string{"plugin.yaml": ""}, "is a folder without a plugin.yaml"},
		"first-party":   {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "calm", "eb", 1)}, "planner eb: INVALID_CONFIG: is the name of a plugin in this program"},
		"protocol":      {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "protocol: 1", "protocol: 2", 1)}, "UNSUPPORTED_PROTOCOL: it speaks protocol version 2, this host speaks version 1"},
		"platform":      {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "entry: run", "entry: {plan9/mips: run}", 1)}, "has no entry for"},
		"missing":       {"../calm", map[string]string{"run": "", "README.md": ""}, "README.md, run, which plugin.yaml declares, is missing"},
		"sums":          {"../calm", map[string]string{"SHA256SUMS": strings.Repeat("a", 64) + "  run\n"}, "run: expected sha256:aaaaaaaa"},
		"sums unlisted": {"../calm", map[string]string{"SHA256SUMS": strings.Repeat("a", 64) + "  run\n"}, "lib/a.py: belongs to the plugin and is not listed"},
		"sums missing":  {"../calm", map[string]string{"SHA256SUMS": strings.Repeat("a", 64) + "  gone\n"}, "gone: is missing, expected sha256:aaaa"},
		"no archive":    {"../calm/README.md", nil, "expected a .tar.gz, found another kind of file (unexpected EOF); make one with `mdmhost plugin pack DIR --out FILE.tar.gz`"},
		"no layout":     {"oci:../calm:x", nil, "expected an OCI image layout"},
		"setup":         {"../calm", map[string]string{"plugin.yaml": manifest + "setup: fail\n", "fail": "#!/bin/sh\necho sorry; exit 3\n"}, "its fail failed, nothing was installed: exit status 3"},
		"setup changes": {"../calm", map[string]string{"plugin.yaml": manifest + "setup: fail\n", "fail": "#!/bin/sh\necho x >>run\n"}, "changed files that belong to the plugin, nothing was installed"},
		"link":          {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "lib]", "lib, secret]", 1)}, "secret: path escapes from parent; the files of a plugin lie within its folder"},
		"link entry":    {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "entry: run", "entry: secret", 1)}, "path escapes from parent"},
		"link folder":   {"../calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "lib]", "'*']", 1)}, "path escapes from parent"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			plugin(t, "../calm", c.files)
			must(t, os.Symlink("/etc/passwd", "../calm/secret"))
			_, _, err := install(t, p.Project, c.source, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("expected %q, found %v", c.want, err)
			}
			if strings.Contains(err.Error(), ".part") {
				t.Errorf("the error names a folder that is gone: %v", err)
			}
			if all, err := os.ReadDir("."); err != nil || len(all) != 1 {
				t.Errorf("the project holds %v, %v", all, err)
			}
		})
	}
}

// Another version is replaced by force alone, in one step, and a setup that fails leaves the old one.
func TestReplace(t *testing.T) {
	p := here(t)
	one := plugin(t, "../one", nil)
	two := plugin(t, "../two", map[string]string{"plugin.yaml": strings.Replace(manifest, "0.1.0", "0.2.0", 1) + "setup: setup\n", "setup": "#!/bin/sh\necho once; mkdir -p .venv/bin && echo made >.venv/bin/x\n"})
	three := plugin(t, "../three", map[string]string{"plugin.yaml": strings.Replace(manifest, "0.1.0", "0.3.0", 1) + "setup: setup\n", "setup": "#!/bin/sh\nexit 1\n"})
	_, _, err := install(t, p.Project, one, false)
	must(t, err)
	before := tree(t, ".")
	if _, _, err := install(t, p.Project, two, false); err == nil || !strings.Contains(err.Error(), "planner calm: INVALID_CONFIG: .mdmhost/plugins holds version 0.1.0, this is 0.2.0; replace it with --force") &&
		!strings.Contains(err.Error(), "planner calm: INVALID_CONFIG: mdmhost.lock pins version 0.1.0, this is 0.2.0; replace it with --force") {
		t.Errorf("error %v", err)
	}
	if _, _, err := install(t, p.Project, three, true); err == nil {
		t.Error("a setup that fails was taken")
	}
	if diff := cmp.Diff(before, tree(t, ".")); diff != "" {
		t.Errorf("after two errors: %s", diff)
	}
	i, log, err := install(t, p.Project, two, true)
	must(t, err)
	if i.Before == nil || i.Before.Version != "0.1.0" || !strings.Contains(log, "planner calm: running its setup\nonce\n") {
		t.Errorf("%+v, log %q", i, log)
	}
	if read(t, ".mdmhost/plugins/calm/.venv/bin/x") != "made\n" || strings.Contains(read(t, ".mdmhost/plugins/calm/SHA256SUMS"), ".venv") {
		t.Error("what the setup makes is there, and belongs to no list")
	}
	all, err := p.Survey(nil)
	must(t, err)
	if len(all) != 1 || all[0].Err != nil || !all[0].Locked {
		t.Errorf("survey %+v", all)
	}
	// The same version with other files is another version, too.
	write(t, "../two/README.md", "changed")
	if _, _, err := install(t, p.Project, two, false); err == nil || !strings.Contains(err.Error(), "version 0.2.0 with other files, this is 0.2.0") {
		t.Errorf("error %v", err)
	}
	// A damaged one is mended without.
	write(t, "../two/README.md", "calm")
	write(t, ".mdmhost/plugins/calm/README.md", "tampered")
	_, _, err = install(t, p.Project, two, false)
	must(t, err)
	if read(t, ".mdmhost/plugins/calm/README.md") != "calm" {
		t.Error("the damaged file is still there")
	}
	// What an interrupted installation left goes with the next.
	must(t, os.MkdirAll(".mdmhost/plugins/.calm.1.part/x", 0o755))
	must(t, p.Project.Remove("calm"))
	if left := tree(t, ".mdmhost"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if _, err := os.Stat(".mdmhost"); !os.IsNotExist(err) {
		t.Errorf("an empty .mdmhost is left, %v", err)
	}
	if err := p.Project.Remove("calm"); err == nil || !strings.Contains(err.Error(), "is not installed in .mdmhost/plugins") {
		t.Errorf("error %v", err)
	}
}

// A fresh checkout has the lock alone: it is installed as pinned, from where it came, and nothing else is.
func TestRestore(t *testing.T) {
	p := here(t)
	source := plugin(t, "../calm", nil)
	_, err := registry.Pack(t.Context(), source, "oci:../layout:1")
	must(t, err)
	_, _, err = install(t, p.Project, "oci:../layout:1", false)
	must(t, err)
	before := tree(t, ".")
	must(t, os.RemoveAll(".mdmhost"))
	must(t, os.Mkdir("below", 0o755))
	t.Chdir("below") // paths of the lock are its own
	home := places(t, "").Project
	all, err := home.Restore(t.Context(), registry.Installation{Log: os.Stderr})
	must(t, err)
	if diff := cmp.Diff(before, tree(t, "..")); diff != "" || len(all) != 1 {
		t.Errorf("%d installed: %s", len(all), diff)
	}
	if all, err := home.Restore(t.Context(), registry.Installation{Log: os.Stderr}); err != nil || len(all) != 0 {
		t.Errorf("again: %v, %v", all, err)
	}
	must(t, os.RemoveAll("../.mdmhost"))
	write(t, filepath.Join("..", source, "run"), "#!/bin/sh\nevil\n")
	_, _, err = install(t, home, filepath.Join("..", source), false)
	if err == nil || !strings.Contains(err.Error(), "mdmhost.lock pins version 0.1.0 with other files, this is 0.1.0; replace it with --force") {
		t.Errorf("error %v", err)
	}
}

// What a source holds instead of the plugin that the lock pins is refused before its setup runs.
func TestRestoreOfAnotherPlugin(t *testing.T) {
	evil := map[string]string{"setup": "#!/bin/sh\necho ran >../../../../ran\n"}
	for name, c := range map[string]struct{ from, to, want string }{
		"name":    {"name: calm", "name: other", "plugin from ../calm: it holds other, and mdmhost.lock says that calm comes from there"},
		"version": {"0.1.0", "0.2.0", "plugin from ../calm: it holds calm sha256:"},
		"files":   {"a test", "a change", "; to take the other, install it by its source with --force"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			_, _, err := install(t, p.Project, plugin(t, "../calm", nil), false)
			must(t, err)
			must(t, os.RemoveAll(".mdmhost"))
			before := tree(t, "..")
			evil["plugin.yaml"] = strings.Replace(manifest, c.from, c.to, 1) + "setup: setup\n"
			plugin(t, "../calm", evil)
			all, err := p.Project.Restore(t.Context(), registry.Installation{Log: os.Stderr})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(all) != 0 {
				t.Errorf("%d installed, error %v", len(all), err)
			}
			after := tree(t, "..")
			for _, changed := range []string{"calm/plugin.yaml", "calm/setup"} {
				delete(before, changed)
				delete(after, changed)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is wrong with a file of an archive is told as a file of the archive.
func TestErrorsNameTheSource(t *testing.T) {
	p := here(t)
	archive(t, "../calm.tar.gz", &tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/SHA256SUMS", Mode: 0o644})
	_, _, err := install(t, p.Project, "../calm.tar.gz", false)
	if want := "plugin from ../calm.tar.gz: ../calm.tar.gz/calm-0.1.0/SHA256SUMS: is empty"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}
