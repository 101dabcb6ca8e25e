package scaffold

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// The wheel has the package, and its RECORD names every file with its digest and size.
func TestWheel(t *testing.T) {
	files, err := pythonKit()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(files[0].content), int64(len(files[0].content)))
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	var names []string
	contents := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = string(content)
		names = append(names, f.Name)
		sum := sha256.Sum256(content)
		recorded = append(recorded, fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content)))
		if strings.Contains(f.Name, "__pycache__") {
			t.Errorf("%s is in the wheel", f.Name)
		}
	}
	const info = "mdmhost_plugin-0.1.0.dist-info/"
	recorded[len(recorded)-1] = info + "RECORD,," // the last file, and its own digest it cannot know
	if got := contents[info+"RECORD"]; got != strings.Join(recorded, "\n")+"\n" {
		t.Errorf("RECORD:\n%s", got)
	}
	for _, want := range []string{"mdmhost_plugin/__init__.py", "mdmhost_plugin/v1/plugin_pb2.py", info + "METADATA", info + "WHEEL", info + "LICENSE"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in the wheel", want)
		}
	}
	if !strings.Contains(contents["mdmhost_plugin/__init__.py"], `__version__ = "0.1.0"`) {
		t.Error("the package has another version than the wheel")
	}
	if got := contents[info+"METADATA"]; !strings.HasPrefix(got, "Metadata-Version: 2.1\nName: mdmhost-plugin\nVersion: 0.1.0\n") {
		t.Errorf("METADATA:\n%s", got)
	}
}

// The wheel says of the package what its own pyproject.toml says.
func TestWheelIsThePackages(t *testing.T) {
	text, err := os.ReadFile("../python/pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	w := pythonWheel(nil)
	wants := []string{"name = " + quoted(w.name), "version = " + quoted(w.version), "description = " + quoted(w.summary), "requires-python = " + quoted(w.python),
		"dependencies = [" + quoted(w.requires...) + "]"}
	for _, e := range w.extras {
		wants = append(wants, e.name+" = ["+quoted(e.requires)+"]")
	}
	for _, want := range wants {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("plugins/python/pyproject.toml lacks %s, which stands in the wheel", want)
		}
	}
	_, extras, _ := strings.Cut(string(text), "\n[project.optional-dependencies]\n")
	extras, _, _ = strings.Cut(extras, "\n\n")
	if n := len(strings.Split(extras, "\n")); n != len(w.extras) {
		t.Errorf("plugins/python/pyproject.toml has %d extras, the wheel %d", n, len(w.extras))
	}
	if want := "Provides-Extra: mtls\nRequires-Dist: cryptography>=42; extra == \"mtls\"\n"; !strings.HasSuffix(string(w.metadata()), want) {
		t.Errorf("METADATA:\n%s", w.metadata())
	}
	pinned, err := os.ReadFile("template/python/project/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range w.requires {
		name := r[:strings.IndexAny(r, "<>=")]
		if !strings.Contains(string(pinned), "\n"+name+"==") {
			t.Errorf("requirements.txt lacks %s", name)
		}
	}
}

// quoted are texts as a list of TOML has them.
func quoted(texts ...string) string { return `"` + strings.Join(texts, `", "`) + `"` }
