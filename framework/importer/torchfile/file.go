// Package torchfile reads the checkpoints that torch.save writes: pytorch_model.bin. They are pickles, a language that can call anything; this reader
// knows what state dictionaries of tensors are made of and refuses everything else, so that nothing of a file is ever executed. Files are
// mapped: tensors are parts of them, and cost no memory until they are read.
package torchfile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/safetensors/mapping"
)

// File is an opened checkpoint.
type File struct {
	Name    string
	tensors []safetensors.Tensor
	mapped  *mapping.Mapping
}

// Open maps a checkpoint, of the zip form (PyTorch 1.6 and later) or the one before it.
func Open(path string) (*File, error) {
	m, err := mapping.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, m.Data)
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	f.mapped = m
	return f, nil
}

// Parse reads a checkpoint that is in memory; name is what errors call it. The tensors are parts of data, but for those whose elements are not stored row by
// row, which are copied.
func Parse(name string, data []byte) (_ *File, err error) {
	read := legacy
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		read = zipped
	case bytes.HasPrefix(data, []byte("version https://git-lfs")):
		return nil, fmt.Errorf("%s: is a Git LFS pointer, not the file itself; run `git lfs pull`", name)
	}
	entries, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; expected a state dictionary of tensors that torch.save wrote: take the model's safetensors file, or write one", name, err)
	}
	f := &File{Name: name}
	for _, e := range entries {
		t, err := e.tensor.view(e.name)
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", name, e.name, err)
		}
		f.tensors = append(f.tensors, t)
	}
	return f, nil
}

// Tensors are all tensors in the order of the state dictionary.
func (f *File) Tensors() []safetensors.Tensor { return f.tensors }

// Release gives back the memory of a part of a tensor that was read.
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
	f.mapped, f.tensors = nil, nil
	return m.Close()
}

// entry is a tensor of the state dictionary.
type entry struct {
	name   string
	tensor *tensor
}

// entries are the tensors of what was unpickled. What training saved beside the weights is below "state_dict" or "model" in some files.
func entries(value any) ([]entry, error) {
	d, ok := value.(*dict)
	if !ok {
		return nil, fmt.Errorf("holds a %s", kindOf(value))
	}
	for _, name := range []string{"state_dict", "model_state_dict"} {
		if inner, ok := d.get(name).(*dict); ok {
			d = inner
		}
	}
	var out []entry
	seen := map[string]bool{}
	for i, key := range d.keys {
		name, ok := key.(string)
		t, isTensor := d.values[i].(*tensor)
		switch {
		case !ok:
			return nil, fmt.Errorf("holds a key that is a %s", kindOf(key))
		case name == "_metadata":
		case !isTensor:
			return nil, fmt.Errorf("holds a %s under %q", kindOf(d.values[i]), name)
		case seen[name]:
			return nil, fmt.Errorf("holds %q twice", name)
		default:
			seen[name] = true
			out = append(out, entry{name, t})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("holds no tensors")
	}
	return out, nil
}
