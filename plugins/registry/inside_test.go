package registry

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a tar holds, it makes files and folders below the folder, and nothing else.
func FuzzReadArchive(f *testing.F) {
	dir := f.TempDir()
	for _, name := range []string{ManifestFile, "run"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	var packed bytes.Buffer
	if err := writeArchive(&packed, root, "top", []string{"run"}, Sums{ManifestFile: "a", "run": "b"}); err != nil {
		f.Fatal(err)
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		f.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add(bytes.ReplaceAll(plain.Bytes(), []byte("top/run"), []byte("../../r")))
	f.Fuzz(func(t *testing.T, text []byte) {
		outer := t.TempDir()
		inner := filepath.Join(outer, "a", "b")
		if err := os.MkdirAll(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(inner)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close() //nolint:errcheck // a test's
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		_ = readArchive(&packed, root) // an error is as good
		err = filepath.WalkDir(outer, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && (!e.Type().IsRegular() || !strings.HasPrefix(path, inner)) {
				t.Errorf("the archive made %s", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Two processes do not change a home at once.
func TestHold(t *testing.T) {
	h := homeIn(t.TempDir())
	release, err := h.hold()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.hold(); err == nil || !strings.Contains(err.Error(), "another process installs or removes one; try again") {
		t.Errorf("error %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = h.hold(); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}
