//go:build linux

package shm_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mdmhost/mdmhost/plugins/proto/shm"
)

// inherited is the plugin's side, on a descriptor of its own as after an exec.
func inherited(t *testing.T, f *os.File) *shm.Mapping {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return shm.Open(uintptr(fd))
}

func TestWhatTheHostWritesThePluginReads(t *testing.T) {
	m, err := shm.New()
	if err != nil {
		t.Fatal(err)
	}
	plugin := inherited(t, m.File())
	for i := range 3 { // the memory grows between two reads
		floats, err := m.Floats(5000)
		if err != nil {
			t.Fatal(err)
		}
		floats[4999] = float32(i + 1)
		at, ok := m.Offset(floats[4998:])
		if !ok {
			t.Fatal("the region is not known")
		}
		got, err := plugin.Floats(m.Size(), at, 2)
		if err != nil || got[0] != 0 || got[1] != float32(i+1) {
			t.Fatalf("plugin reads %v, %v", got, err)
		}
	}
	if _, ok := m.Offset(make([]float32, 3)); ok {
		t.Error("a slice elsewhere has an offset")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal("second close:", err)
	}
	if _, err := m.Floats(1); err == nil {
		t.Error("a closed memory grows")
	}
}

func TestReadsOutsideAreRefused(t *testing.T) {
	m, err := shm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if _, err := m.Floats(8); err != nil {
		t.Fatal(err)
	}
	plugin, size := inherited(t, m.File()), m.Size()
	for _, c := range []struct {
		size, offset int64
		n            int
		want         string
	}{
		{size, -4, 1, "expected them within"}, {size, 2, 1, "expected them within"}, {size, size, 1, "expected them within"},
		{size, 0, int(size/4) + 1, "expected them within"}, {size, 1 << 62, 1, "expected them within"}, {2 * size, 0, 1, "it has 4096 bytes, expected 8192"},
	} {
		if _, err := plugin.Floats(c.size, c.offset, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
