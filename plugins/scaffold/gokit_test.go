package scaffold

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kitRoots are the packages that plugins import.
var kitRoots = []string{"plugins/sdk", "plugins/sdk/count", "plugins/sdk/options", "plugins/sdk/trainer", "plugins/plugintest"}

// The kit holds the files of the packages that plugins import, of all that those import, and no others.
func TestKitIsWhatPluginsImport(t *testing.T) {
	const module = "github.com/mdmhost/mdmhost/"
	args := []string{"list", "-deps", "-json=ImportPath,Dir,EmbedFiles"}
	for _, root := range kitRoots {
		args = append(args, module+root)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kit/LICENSE"}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			EmbedFiles      []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		folder, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		there, err := os.ReadDir(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		names := p.EmbedFiles
		for _, f := range there {
			if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
				names = append(names, f.Name())
			}
		}
		for _, name := range names {
			want = append(want, path.Join("kit", folder, name))
		}
	}
	files, err := goKit()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.path)
		repository, err := os.ReadFile(path.Join("../..", strings.TrimPrefix(f.path, "kit/")))
		if err != nil || !bytes.Equal(f.content, repository) {
			t.Errorf("%s is not the repository's: %v", f.path, err)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("correct the patterns in framework/kit.go and plugins/kit.go, and call modules.sh (-imported +embedded):\n%s", diff)
	}
}

// Projects take the versions of modules that the repository has: call modules.sh.
func TestKitVersions(t *testing.T) {
	ours := requirements(t, "../../go.mod")
	for _, file := range []string{"template/go/project/kit/go.mod.tmpl", "template/go/project/go.mod.tmpl"} {
		theirs := requirements(t, file)
		if len(theirs) < 7 {
			t.Errorf("%s requires %d modules only", file, len(theirs))
		}
		for module, version := range theirs {
			if module != "github.com/mdmhost/mdmhost" && ours[module] != version {
				t.Errorf("%s requires %s %s, the repository %s", file, module, version, ours[module])
			}
		}
	}
	for _, file := range []string{"../../go.mod", "template/go/project/kit/go.mod.tmpl", "template/go/project/go.mod.tmpl"} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "\ngo 1.26.0\n") {
			t.Errorf("%s: expected go 1.26.0 as everywhere, %v", file, err)
		}
	}
}

// requirements are the modules of a go.mod with their versions.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) >= 2 && strings.HasPrefix(words[1], "v") && words[0] != "//" {
			out[words[0]] = words[1]
		}
	}
	return out
}
