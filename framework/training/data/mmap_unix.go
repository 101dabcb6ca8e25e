//go:build unix

package data

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file of size bytes, at least 1, for reading.
func mapFile(path string, size int64) (b []byte, unmap func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // the mapping stays
	if b, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, nil, err
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
