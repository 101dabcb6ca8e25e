package model

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// WriteDir writes a model directory from its files' contents by path, whole or not at all: under another name beside dir, onto
// the disk, opened with opts as a test, then into place. A directory that is there already is exchanged for it, unless it holds
// files that the new one lacks: then nothing is changed.
func WriteDir(dir string, files map[string][]byte, opts ...Option) error {
	err := replaceDir(dir, files, func(written string) error {
		_, err := Open(written, opts...)
		return err
	})
	if err != nil {
		return fmt.Errorf("model %s: %w", dir, err)
	}
	return nil
}

// ReadFile reads another file of the model, such as model.safetensors. The error of one that is not there is fs.ErrNotExist.
func (m *Model) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("model %s: %q is no path below it", m.Name, name)
	}
	return fs.ReadFile(m.folder, name)
}

// replaceDir is WriteDir with any check.
func replaceDir(dir string, files map[string][]byte, check func(written string) error) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	exists, err := mayReplace(dir, files)
	if err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // what is left of it is no model
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(filepath.Join(tmp, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	if err := errors.Join(check(tmp), wholefile.SyncDir(tmp)); err != nil {
		return err
	}
	put := os.Rename
	if exists {
		put = wholefile.Exchange // and the old one is removed under the name of the new
	}
	if err := put(tmp, dir); err != nil {
		return err
	}
	return wholefile.SyncDir(parent)
}

// mayReplace tells whether dir exists, and refuses one that is not ours to remove.
func mayReplace(dir string, files map[string][]byte) (exists bool, err error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, errors.New("is a file, expected a directory or nothing; give another name")
	}
	return true, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if _, again := files[filepath.ToSlash(name)]; err == nil && !again {
			err = fmt.Errorf("holds %s, which the new model does not have; nothing was changed: move it away, or give another name", name)
		}
		return err
	})
}

// writeFile writes a new file onto the disk, with the folders above it.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), wholefile.SyncDir(filepath.Dir(path)))
}
