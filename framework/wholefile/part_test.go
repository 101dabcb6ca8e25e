package wholefile

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// What a killed process left goes with the next one; what somebody holds, or has another name, stays.
func TestPartsOfTheDead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories are held on Linux alone")
	}
	parent := t.TempDir()
	for _, name := range []string{".out.1.part", ".out.2.part", ".out.x.part", ".out.b.3.part", ".out.4", "out.5.part"} {
		if err := os.MkdirAll(filepath.Join(parent, name, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	held, err := claim(filepath.Join(parent, ".out.2.part"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close() //nolint:errcheck // only held
	during := func(string) error {
		if _, release, err := newPart(filepath.Join(parent, "out")); err != nil { // another process at the same time
			return err
		} else {
			release()
		}
		return nil
	}
	if err := ReplaceDir(filepath.Join(parent, "out"), Files{"a": Bytes(nil)}, during); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceDir(filepath.Join(parent, "out"), Files{"a": Bytes(nil)}, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".out.2.part", ".out.4", ".out.b.3.part", ".out.x.part", "out", "out.5.part"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, expected %q", names, want)
	}
}
