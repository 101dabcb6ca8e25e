// Package shm is the memory through which logits reach plugins without being sent: the host makes it and hands its file
// descriptor to the plugin's process, which maps it read-only. It exists on Linux; elsewhere [Memory] is ordinary memory
// without a file, and logits travel as bytes.
package shm

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// Memory is the host's side. It only grows. It may be used by several goroutines, but who writes a region that a plugin
// reads must wait for the plugin's answer.
type Memory struct {
	mu      sync.Mutex
	file    *os.File // nil where the system has no shared memory
	size    int64
	regions []region
}

type region struct {
	data   []byte
	offset int64
}

// File returns the file whose descriptor plugins inherit, or nil where there is none.
func (m *Memory) File() *os.File { return m.file }

// Size returns the bytes that the memory has now.
func (m *Memory) Size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}

// Floats returns n new numbers, zero at first, that stay valid until Close. An output tensor of a runtime may be laid
// over them.
func (m *Memory) Floats(n int) ([]float32, error) {
	if n <= 0 {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	page := int64(os.Getpagesize())
	size := (4*int64(n) + page - 1) / page * page
	data, err := m.extend(size)
	if err != nil {
		return nil, fmt.Errorf("shared memory: expected %d bytes more: %w; use a smaller batch", size, err)
	}
	m.regions = append(m.regions, region{data, m.size})
	m.size += size
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), n), nil
}

// Offset returns where numbers lie in the memory, in bytes; false if they lie elsewhere.
func (m *Memory) Offset(s []float32) (int64, bool) {
	if len(s) == 0 || m.file == nil {
		return 0, len(s) == 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	for _, r := range m.regions {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(r.data)))
		if at >= start && at+uintptr(4*len(s)) <= start+uintptr(len(r.data)) {
			return r.offset + int64(at-start), true
		}
	}
	return 0, false
}

// Mapping is the plugin's side.
type Mapping struct {
	file *os.File
	data []byte
}

// Open takes over the descriptor that the host handed down.
func Open(fd uintptr) *Mapping { return &Mapping{file: os.NewFile(fd, "mdmhost-logits")} }

// Floats returns n numbers that begin at an offset, when the memory has size bytes. They must only be read.
func (m *Mapping) Floats(size, offset int64, n int) ([]float32, error) {
	if n == 0 {
		return nil, nil
	}
	if offset < 0 || n < 0 || offset%4 != 0 || offset > size || int64(n) > (size-offset)/4 {
		return nil, fmt.Errorf("%d numbers at byte %d, expected them within %d bytes", n, offset, size)
	}
	if int64(len(m.data)) < size {
		if err := m.remap(size); err != nil {
			return nil, fmt.Errorf("mapping %d bytes of shared memory: %w", size, err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m.data[offset:]))), n), nil
}
