package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Encode writes tensors in their order ([Sort] gives the usual one), with metadata unless that is nil. The data begins at
// a multiple of 8 bytes. The same arguments give the same bytes.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	head, err := Header(tensors, metadata)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// HeaderSize is the number of bytes that [Encode] writes before the elements of the first tensor; those of the others follow without gaps.
func HeaderSize(tensors []Tensor, metadata map[string]string) (int64, error) {
	head, err := Header(tensors, metadata)
	return int64(len(head)), err
}

// Header is what [Encode] writes before the elements: for writers that put them behind it by themselves, a part at a time.
func Header(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	separator := "{"
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false) // as other writers do
	put := func(key string, value any) error {
		if !utf8.ValidString(key) {
			return fmt.Errorf("tensor %q: its name is not UTF-8; rename it", key)
		}
		b.WriteString(separator)
		separator = ","
		err := text.Encode(key)
		b.Truncate(b.Len() - 1) // the newline
		b.WriteByte(':')
		err = errors.Join(err, text.Encode(value))
		b.Truncate(b.Len() - 1)
		return err
	}
	if metadata != nil {
		if err := put(reserved, metadata); err != nil {
			return nil, err
		}
	}
	seen, at := map[string]bool{}, int64(0)
	for _, t := range tensors {
		if t.Name == reserved || seen[t.Name] {
			return nil, fmt.Errorf("tensor %q: expected names that differ from one another and from %s; rename it", t.Name, reserved)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return nil, err
		}
		end := at + int64(len(t.Data))
		shape := t.Shape
		if shape == nil {
			shape = []int64{}
		}
		if err := put(t.Name, struct {
			DType   DType    `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{t.DType, shape, [2]int64{at, end}}); err != nil {
			return nil, err
		}
		at = end
	}
	if separator == "{" {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	n := b.Len() - 8
	if n > maxHeader {
		return nil, fmt.Errorf("the names of %d tensors take %d bytes, the format allows %d; write several files", len(tensors), n, maxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(n))
	return b.Bytes(), nil
}

// WriteFile writes a file whole or not at all: beside path under another name first, then onto the disk, then into
// place. A file that stood there stays until then. Arguments are those of [Encode].
func WriteFile(path string, tensors []Tensor, metadata map[string]string) error {
	if err := wholefile.Replace(path, func(w io.Writer) error { return Encode(w, tensors, metadata) }); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return wholefile.SyncDir(filepath.Dir(path))
}
