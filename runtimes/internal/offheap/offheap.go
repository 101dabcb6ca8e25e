// Package offheap is memory outside the Go heap, for tensors that a C library reads and writes while Go code runs.
package offheap

/*
#include <stdlib.h>
#include <string.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrOutOfMemory is in the error of a block for which there is too little memory.
var ErrOutOfMemory = errors.New("out of memory")

// Allocator is memory of a device, or memory of the host that a device copies from and to faster. Blocks hold anything at first.
type Allocator interface {
	Alloc(bytes int) (unsafe.Pointer, error)
	Free(unsafe.Pointer)
}

// Memory owns blocks outside the Go heap, zeroed and aligned to 64 bytes; they live until Free.
type Memory struct {
	From   Allocator // of memory that the host can write, which outlives the blocks; nil is the host's own
	blocks []unsafe.Pointer
}

// Alloc returns n elements that live until m.Free. It returns nil for n = 0.
func Alloc[T any](m *Memory, n int) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	var zero T
	size := (n*int(unsafe.Sizeof(zero)) + 63) / 64 * 64
	from := m.From
	if from == nil {
		from = Host{}
	}
	p, err := from.Alloc(size)
	if err != nil {
		return nil, fmt.Errorf("memory: %d bytes for a batch cannot be had: %w; use a smaller --batch", size, err)
	}
	C.memset(p, 0, C.size_t(size))
	m.blocks = append(m.blocks, p)
	return unsafe.Slice((*T)(p), n), nil
}

// Free returns all blocks. Slices of them must not be used any more.
func (m *Memory) Free() {
	for _, p := range m.blocks {
		if m.From != nil {
			m.From.Free(p)
		} else {
			Host{}.Free(p)
		}
	}
	m.blocks = nil
}

// Host is the host's memory.
type Host struct{}

// Alloc returns bytes that are aligned to 64.
func (Host) Alloc(bytes int) (unsafe.Pointer, error) {
	p := C.aligned_alloc(64, C.size_t((bytes+63)/64*64))
	if p == nil {
		return nil, fmt.Errorf("%w on the host", ErrOutOfMemory)
	}
	return p, nil
}

// Free gives bytes of Alloc back.
func (Host) Free(p unsafe.Pointer) { C.free(p) }

// Copy copies bytes from one block to another.
func (Host) Copy(dst, src unsafe.Pointer, bytes int) error {
	copy(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(src), bytes))
	return nil
}
