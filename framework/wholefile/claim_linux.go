package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// claim holds a directory until the result is closed or the process ends, however that comes about. The error is fs.ErrExist where
// another process holds it, and fs.ErrNotExist where it is gone; others are of file systems without locks.
func claim(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fs.ErrExist
	}
	if err == nil && !same(f, dir) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// same tells whether an open directory still has its name.
func same(f *os.File, dir string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(dir)
	return err == nil && os.SameFile(a, b)
}
