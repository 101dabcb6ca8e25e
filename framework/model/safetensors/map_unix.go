//go:build unix

package safetensors

import (
	"os"
	"syscall"
)

func mapping(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if size == 0 || size != int64(int(size)) {
		return nil, func() error { return nil }, nil // refused for its length by whoever reads it
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	return data, func() error { return syscall.Munmap(data) }, err
}
