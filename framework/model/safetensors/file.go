// Package safetensors reads and writes the safetensors format: a JSON header with names, types, shapes and offsets, then
// the elements. Files are mapped into memory, so that opening one costs nothing and tensors are not copied.
package safetensors

import (
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/safetensors/mapping"
)

// File is an opened file. It may be read from several goroutines.
type File struct {
	Name     string            // what errors call it
	Metadata map[string]string // "__metadata__", or nil
	tensors  []Tensor
	index    map[string]int
	mapped   *mapping.Mapping // or nil
}

// Open maps a file. Its tensors are parts of the mapping: a file must not be cut while it is open, and is best replaced
// by a rename, as [WriteFile] does. Close ends the mapping. Errors say what is wrong with the header.
func Open(path string) (*File, error) {
	m, err := mapping.Open(path)
	if err != nil {
		return nil, err
	}
	out, err := Parse(path, m.Data)
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	out.mapped = m
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

// Release gives back the memory of a part of a tensor of an opened file once it was read; it is read from the disk again when it is needed.
func (f *File) Release(part []byte) {
	if f.mapped != nil {
		f.mapped.Release(part)
	}
}

// Close ends the mapping; the tensors must not be used after it.
func (f *File) Close() error {
	if f.mapped == nil {
		return nil
	}
	m := f.mapped
	f.mapped, f.tensors, f.index = nil, nil, nil
	return m.Close()
}
