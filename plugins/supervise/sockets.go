package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	socketPattern = "mdmhost-sockets-"
	// longestSocketDir leaves room for go-plugin's own names in the 108 bytes that a socket's path may have.
	longestSocketDir = 64
)

// socketDir is a private folder for one plugin's sockets. The host holds a lock in it as long as it lives, so that
// another host can tell a folder in use from one that was left behind.
type socketDir struct {
	path string
	lock *flock.Flock
}

// cleanOnce looks for folders of dead hosts once per process.
var cleanOnce sync.Once

func newSocketDir() (*socketDir, error) {
	parent := os.TempDir()
	if len(parent)+len(socketPattern)+10 > longestSocketDir {
		parent = "/tmp"
	}
	cleanOnce.Do(func() { cleanStale(parent) })
	path, err := os.MkdirTemp(parent, socketPattern) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("folder for sockets: %w; make %s writable or set TMPDIR", err, parent)
	}
	d := &socketDir{path, flock.New(filepath.Join(path, "lock"))}
	if ok, err := d.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("folder for sockets %s: it cannot be locked: %v", path, err), os.RemoveAll(path))
	}
	return d, nil
}

func (d *socketDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// cleanStale removes the folders whose host is gone. Young ones are left alone: their host may be about to lock them, and the
// file of the lock is there before it is held. Folders of other users do not open and stay.
func cleanStale(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, socketPattern+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		lock := flock.New(filepath.Join(dir, "lock"))
		if ok, err := lock.TryLock(); err == nil && ok {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}
