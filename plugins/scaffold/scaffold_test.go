package scaffold

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

// every calls f with a project of each kind and language.
func every(t *testing.T, f func(t *testing.T, p Project)) {
	for _, kind := range sampling.Kinds {
		for _, language := range Languages {
			t.Run(language+" "+string(kind), func(t *testing.T) {
				f(t, Project{Name: "quite-a-long-name", Kind: kind, Language: language, Dir: filepath.Join(t.TempDir(), "new", "folder")})
			})
		}
	}
}

// The files of a project are there, carry its name and no example's, and are what their readers expect.
func TestProjects(t *testing.T) {
	every(t, func(t *testing.T, p Project) {
		paths, err := p.Write()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{".gitignore", "Justfile", "LICENSE", "README.md", "ci.sh", "plugin.yaml"}
		if p.Language == Go {
			want = append(want, "go.mod", "go.sum", "main.go", "quite-a-long-name_test.go")
		} else {
			want = append(want, "pyproject.toml", "quite-a-long-name", "quite_a_long_name.py", "quite_a_long_name_test.py", "requirements.txt", "setup",
				"wheels/mdmhost_plugin-0.1.0-py3-none-any.whl")
		}
		if p.Kind == sampling.KindTrainer {
			want = append(want, "train.yaml")
		}
		for _, path := range want {
			if !slices.Contains(paths, path) {
				t.Errorf("%s is not written", path)
			}
		}
		for _, path := range paths {
			content, err := os.ReadFile(filepath.Join(p.Dir, path))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(path, "kit/") || strings.HasSuffix(path, ".whl") {
				continue
			}
			for _, left := range []string{"my-planner", "my-sampler", "my-trainer", "my-plugin", "my_p", "my_s", "my_t", "[[", "]]"} {
				if bytes.Contains(content, []byte(left)) {
					t.Errorf("%s: %q is left of the template", path, left)
				}
			}
			if strings.HasSuffix(path, ".go") {
				if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
					t.Errorf("%s is not formatted: %v", path, err)
				}
			}
			if top, _, folder := strings.Cut(path, "/"); p.purpose(top+map[bool]string{true: "/"}[folder]) == "" {
				t.Errorf("the summary does not say what %s is for", top)
			}
			info, err := os.Stat(filepath.Join(p.Dir, path))
			if program := info.Mode()&0o111 != 0; err != nil || program != slices.Contains([]string{"ci.sh", "setup", p.Name}, path) {
				t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
			}
		}
		m, err := registry.ReadManifest(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if entry, err := m.EntryHere(); err != nil || entry != p.Name || m.Name != p.Name || m.Kind != p.Kind || m.Version != "0.1.0" {
			t.Errorf("manifest %+v, %v", m, err)
		}
	})
}

// The same project is written twice with the same bytes.
func TestDeterministic(t *testing.T) {
	every(t, func(t *testing.T, p Project) {
		a, err := p.files()
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.files()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(file{})); diff != "" {
			t.Error(diff)
		}
	})
}

// A project takes nobody's place, and what cannot be written leaves nothing behind.
func TestPlaces(t *testing.T) {
	p := Project{Name: "mine", Kind: sampling.KindPlanner, Language: Go}
	work := t.TempDir()
	t.Chdir(work)
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"full/of", "empty", "here"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"dangling": "nowhere", "link": "empty"}
	for name, to := range links {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"dangling":  "folder dangling: expected a new folder, found a symbolic link; ",
		"link":      "folder link: expected a new folder, found a symbolic link; ",
		"full":      "folder full: expected a new or an empty folder, found 1 files, such as of; give another one with --dir",
		"file":      "folder file: expected a new folder: ",
		"file/mine": "folder file/mine: ",
	} {
		p.Dir = dir
		if _, err := p.Write(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", dir, err, want)
		}
	}
	p.Dir = "empty"
	if _, err := p.Write(); err != nil {
		t.Error(err)
	}
	t.Chdir("here")
	p.Dir = "."
	if _, err := p.Write(); err == nil || !strings.HasPrefix(err.Error(), "folder .: expected a new folder, found the one that you are in; ") {
		t.Errorf("error %v", err)
	}
	t.Chdir(work)
	left, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(".*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dangling", "empty", "file", "full", "here", "link"}, append(left, hidden...)); diff != "" {
		t.Error(diff)
	}
	for name, want := range links {
		if to, err := os.Readlink(name); err != nil || to != want {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	if info, err := os.Stat("empty"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
