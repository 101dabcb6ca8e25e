package supervise

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
)

// TestFoldersOfDeadHostsAreRemoved: only a folder of some age whose lock nobody holds, or that never got one, is stale.
func TestFoldersOfDeadHostsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	folder := func(name string, lock bool) string {
		dir := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Join(dir, "plugin-dir1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if lock {
			if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	hourAgo := time.Now().Add(-time.Hour)
	aged := func(name string, lock bool) string {
		path := folder(name, lock)
		if err := os.Chtimes(path, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
		return path
	}
	aged(socketPattern+"dead", true)
	aged(socketPattern+"old", false)
	aged("somebody-elses", true)
	folder(socketPattern+"young", false)
	folder(socketPattern+"young-with-lock", true) // which its host is about to hold
	alive := flock.New(filepath.Join(aged(socketPattern+"alive", true), "lock"))
	if ok, err := alive.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer func() { _ = alive.Close() }()

	cleanStale(parent)
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if diff := cmp.Diff([]string{socketPattern + "alive", socketPattern + "young", socketPattern + "young-with-lock", "somebody-elses"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestSocketsLieInAPrivateShortFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), "a-name-that-is-much-too-long-for-the-path-of-a-unix-domain-socket")
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	d, err := newSocketDir()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(d.path)
	if err != nil || info.Mode().Perm() != 0o700 || len(d.path) > longestSocketDir {
		t.Errorf("folder %s, %v, %v", d.path, info.Mode(), err)
	}
	if err := d.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
