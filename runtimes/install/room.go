package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// room refuses to begin what would fill the disk: dir, or the folder above it that is there, must have space for so many bytes.
func room(dir string, need int64) error {
	there, err := existing(dir)
	if err != nil {
		return err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(there, &disk); err != nil {
		return fmt.Errorf("%s: %w; give another folder", there, err)
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < need { //nolint:unconvert // the types differ between systems
		return fmt.Errorf("%s has %s free, and %s are needed; free some, or give another folder", there, size(free), size(need))
	}
	return nil
}

// sameDisk tells whether two folders, or those above them that are there, share a file system.
func sameDisk(a, b string) bool {
	number := func(dir string) (n uint64, ok bool) {
		there, err := existing(dir)
		if err != nil {
			return 0, false
		}
		info, err := os.Stat(there)
		if err != nil {
			return 0, false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return uint64(stat.Dev), true //nolint:unconvert // likewise
	}
	x, okX := number(a)
	y, okY := number(b)
	return okX && okY && x == y
}

// existing is dir or the nearest folder above it that is there.
func existing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, err
		}
		dir = filepath.Dir(dir)
	}
}

// size writes bytes as people read them, in decimal units like the indexes of packages.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f kB", float64(n)/1e3)
}
