package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files are the contents of a directory by slash-separated path. Each is written by its function, once.
type Files map[string]func(io.Writer) error

// Bytes is a content that is there already.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// ReplaceDir writes a directory, whole or not at all: under another name beside dir, onto the disk, held against check, then into
// place. nil checks nothing; check may add files to what was written, whose names are added. A directory that is there already is
// exchanged for it, unless it holds files that the new one lacks: then nothing is changed, and mostly nothing was written.
func ReplaceDir(dir string, files Files, check func(written string) error, added ...string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	ours := func(name string) bool { return files[name] != nil || slices.Contains(added, name) }
	if _, err := mayReplace(dir, ours); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, release, err := newPart(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer release()
	defer os.RemoveAll(tmp) //nolint:errcheck // what is left of it is of no use
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(tmp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := errors.Join(Replace(path, files[name]), SyncDir(filepath.Dir(path))); err != nil {
			return err
		}
	}
	if check != nil {
		if err := check(tmp); err != nil {
			return err
		}
	}
	there, err := mayReplace(dir, ours) // once more: somebody may have put a file there meanwhile
	if err != nil {
		return err
	}
	put := os.Rename
	if there {
		put = Exchange // and the old one is removed under the name of the new
	}
	if err := errors.Join(SyncDir(tmp), put(tmp, dir)); err != nil {
		return err
	}
	return SyncDir(parent)
}

// exists tells whether dir is there, and refuses what is no directory.
func exists(dir string) (bool, error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, errors.New("is a file, expected a directory or nothing; give another name")
	}
	return true, nil
}

// mayReplace tells whether dir is there, and refuses one that is not ours to remove: it holds files of other names.
func mayReplace(dir string, ours func(name string) bool) (bool, error) {
	there, err := exists(dir)
	if err != nil || !there {
		return false, err
	}
	return true, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !ours(filepath.ToSlash(name)) {
			return fmt.Errorf("holds %s, which the new one does not have; nothing was changed: move it away, or give another name", name)
		}
		return nil
	})
}
