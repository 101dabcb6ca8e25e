package mapping_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model/safetensors/mapping"
)

// What was released is read again, and memory that is no part of a mapping is left alone.
func TestRelease(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	heap := bytes.Clone(content)
	for _, part := range [][]byte{m.Data, m.Data[:1], m.Data[5000:9000], m.Data[len(content)-3:], heap, nil} {
		m.Release(part)
		if !bytes.Equal(m.Data, content) || !bytes.Equal(heap, content) {
			t.Fatalf("after releasing %d bytes the content differs", len(part))
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m.Release(heap)
	if err := m.Close(); err != nil || !bytes.Equal(heap, content) {
		t.Error(err)
	}
	if _, err := mapping.Open(t.TempDir()); err == nil {
		t.Error("a directory was mapped")
	}
}
