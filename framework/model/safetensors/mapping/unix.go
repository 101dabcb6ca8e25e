//go:build unix

package mapping

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapped(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if size == 0 || size != int64(int(size)) {
		return nil, func() error { return nil }, nil // refused for its length by whoever reads it
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return data, func() error { return unix.Munmap(data) }, err
}

// forget lets go of whole pages of a mapping of a file.
func forget(pages []byte) { _ = unix.Madvise(pages, unix.MADV_DONTNEED) }
