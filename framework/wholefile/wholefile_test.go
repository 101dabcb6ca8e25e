package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
