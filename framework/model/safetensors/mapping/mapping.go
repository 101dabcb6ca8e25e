// Package mapping maps files into memory, to be read in parts and forgotten again.
package mapping

import (
	"fmt"
	"os"
	"unsafe"
)

// Mapping is a file in memory. It may be read from several goroutines.
type Mapping struct {
	Data  []byte // to be read only, and not after Close
	unmap func() error
}

// Open maps a regular file. It must not be cut while it is open.
func Open(path string) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file, expected one that can be mapped; give the file itself", path)
	}
	data, unmap, err := mapped(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Mapping{data, unmap}, nil
}

// Release gives back the memory of a part that was read. The part stays: it is read from the disk again when it is needed. What is
// no part of the mapping is left alone.
func (m *Mapping) Release(part []byte) {
	if len(part) == 0 || len(m.Data) == 0 {
		return
	}
	begin, at := uintptr(unsafe.Pointer(&m.Data[0])), uintptr(unsafe.Pointer(&part[0]))
	if at < begin || at-begin+uintptr(len(part)) > uintptr(len(m.Data)) {
		return
	}
	page := uintptr(os.Getpagesize())
	from := (at - begin) / page * page
	to := min((at-begin+uintptr(len(part))+page-1)/page*page, uintptr(len(m.Data)))
	forget(m.Data[from:to])
}

// Close ends the mapping.
func (m *Mapping) Close() error {
	unmap := m.unmap
	m.Data, m.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}
