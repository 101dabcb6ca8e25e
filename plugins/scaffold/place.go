package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// place writes files into a new folder. They are written beside it first, so that the folder is there as a whole or not at all.
// An empty folder of the name is taken.
func place(folder string, files []file) (err error) {
	target, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := vacant(folder, target); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return fmt.Errorf("folder %s: %w", folder, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.part")
	if err != nil {
		return fmt.Errorf("folder %s: %w", folder, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(work))
		}
	}()
	for _, f := range files {
		if err := f.write(work); err != nil {
			return fmt.Errorf("folder %s: %w", folder, err)
		}
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %s: somebody wrote into it at the same time: %w", folder, err)
	}
	return os.Rename(work, target)
}

// vacant refuses a place where something is.
func vacant(folder, target string) error {
	if info, err := os.Lstat(target); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("folder %s: expected a new folder, found a symbolic link; give another one with --dir", folder)
	}
	there, err := os.ReadDir(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("folder %s: expected a new folder: %w; give another one with --dir", folder, err)
	}
	if len(there) > 0 {
		return fmt.Errorf("folder %s: expected a new or an empty folder, found %d files, such as %s; give another one with --dir", folder, len(there), there[0].Name())
	}
	if here, err := os.Getwd(); err == nil && here == target {
		return fmt.Errorf("folder %s: expected a new folder, found the one that you are in; go one up, or give another one with --dir", folder)
	}
	return nil
}

// write writes the file below a folder.
func (f file) write(folder string) error {
	path := filepath.Join(folder, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if f.executable() {
		mode = 0o755
	}
	return os.WriteFile(path, f.content, mode)
}
