package offheap_test

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

// lender counts the blocks that it has lent, which are full of something.
type lender struct {
	offheap.Host
	lent int
}

func (l *lender) Alloc(bytes int) (unsafe.Pointer, error) {
	p, err := l.Host.Alloc(bytes)
	if err == nil {
		l.lent++
		for i := range unsafe.Slice((*byte)(p), bytes) {
			unsafe.Slice((*byte)(p), bytes)[i] = 0xff
		}
	}
	return p, err
}

func (l *lender) Free(p unsafe.Pointer) {
	l.lent--
	l.Host.Free(p)
}

// Blocks are zeros wherever they come from, and go back there.
func TestMemory(t *testing.T) {
	from := &lender{}
	for _, m := range []*offheap.Memory{{}, {From: from}} {
		a, err := offheap.Alloc[int64](m, 100)
		if err != nil {
			t.Fatal(err)
		}
		b, err := offheap.Alloc[uint8](m, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(a) != 100 || len(b) != 3 || slices.Max(a) != 0 || slices.Min(a) != 0 || slices.Max(b) != 0 {
			t.Errorf("blocks %v and %v, want 100 and 3 zeros", a, b)
		}
		if m.From != nil && from.lent != 2 {
			t.Errorf("%d blocks lent, want 2", from.lent)
		}
		m.Free()
	}
	if from.lent != 0 {
		t.Errorf("%d blocks are still lent", from.lent)
	}
}

// More than there can be is an error that says what to do.
func TestTooMuch(t *testing.T) {
	var m offheap.Memory
	defer m.Free()
	if _, err := offheap.Alloc[uint8](&m, 1<<60); !errors.Is(err, offheap.ErrOutOfMemory) {
		t.Errorf("error %v, want %v", err, offheap.ErrOutOfMemory)
	}
	if some, err := offheap.Alloc[uint8](&m, 8); err != nil || len(some) != 8 {
		t.Errorf("%d bytes afterwards, error %v", len(some), err)
	}
}
