package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("the file holds %q (%v), expected %q", got, err, want)
		}
		if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
			t.Errorf("%d files beside each other (%v), expected one", len(all), err)
		}
	}
	if err := wholefile.ReplaceBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	check("old")
	broken := errors.New("broken")
	err := wholefile.Replace(path, func(w io.Writer) error {
		_, err := w.Write([]byte("half of the ne"))
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, expected the writer's", err)
	}
	check("old")
	if err := errors.Join(wholefile.ReplaceBytes(path, []byte("new")), wholefile.SyncDir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	check("new")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := wholefile.ReplaceBytes(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file below a file was written")
	}
}

func TestExchange(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		if err := errors.Join(os.Mkdir(d, 0o755), os.WriteFile(filepath.Join(d, "f"), []byte(d), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := wholefile.Exchange(a, b); err != nil {
		t.Fatal(err)
	}
	for now, before := range map[string]string{a: b, b: a} {
		if got, err := os.ReadFile(filepath.Join(now, "f")); err != nil || string(got) != before {
			t.Errorf("%s holds %q (%v), expected %q", now, got, err, before)
		}
	}
	if err := wholefile.Exchange(filepath.Join(dir, "none"), b); err == nil {
		t.Error("a directory traded names with nothing")
	}
}

// A directory with files of somebody else is refused before anything is written.
func TestReplaceDirOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	added := func(written string) error { return os.WriteFile(filepath.Join(written, "record"), nil, 0o644) }
	files := wholefile.Files{"below/a": wholefile.Bytes([]byte("a"))}
	for range 2 {
		if err := wholefile.ReplaceDir(dir, files, added, "record"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "below", "thesis"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := wholefile.ReplaceDir(dir, wholefile.Files{"below/a": func(io.Writer) error { t.Error("it was written"); return nil }}, nil, "record")
	if err == nil || !strings.Contains(err.Error(), filepath.Join("below", "thesis")+", which the new one does not have") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "below", "thesis")); err != nil {
		t.Error(err)
	}
}
