// Package safetensors reads and writes the safetensors format: a JSON header with names, types, shapes and offsets, then
// the elements. Files are mapped into memory, so that opening one costs nothing and tensors are not copied.
package safetensors

import (
	"fmt"
	"os"
	"strings"
)

// File is an opened file. It may be read from several goroutines.
type File struct {
	Name     string            // what errors call it
	Metadata map[string]string // "__metadata__", or nil
	tensors  []Tensor
	index    map[string]int
	unmap    func() error
}

// Open maps a file. Its tensors are parts of the mapping: a file must not be cut while it is open, and is best replaced
// by a rename, as [WriteFile] does. Close ends the mapping. Errors say what is wrong with the header.
func Open(path string) (*File, error) {
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
		return nil, fmt.Errorf("%s: is no regular file; name a safetensors file", path)
	}
	data, unmap, err := mapping(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out, err := Parse(path, data)
	if err != nil {
		_ = unmap()
		return nil, err
	}
	out.unmap = unmap
	return out, nil
}

// Parse reads a file that is in memory; name is what errors call it. The tensors are parts of data.
func Parse(name string, data []byte) (*File, error) {
	header, rest, err := split(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	entries, metadata, err := decode(header)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tensors, err := place(entries, rest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &File{Name: name, Metadata: metadata, tensors: tensors, index: make(map[string]int, len(tensors))}
	for i, t := range tensors {
		f.index[t.Name] = i
	}
	return f, nil
}

// Tensors returns all tensors in the order of their data. The slice is the file's own.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor returns the tensor of that name.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.index[name]
	if !ok {
		var have []string
		for _, t := range f.tensors[:min(len(f.tensors), 8)] {
			have = append(have, t.Name)
		}
		if len(f.tensors) > len(have) {
			have = append(have, "...")
		}
		return Tensor{}, fmt.Errorf("%s: has no tensor %q; it has %d: %s", f.Name, name, len(f.tensors), strings.Join(have, ", "))
	}
	return f.tensors[i], nil
}

// Close ends the mapping; the tensors must not be used after it.
func (f *File) Close() error {
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.tensors, f.index = nil, nil, nil
	return unmap()
}
