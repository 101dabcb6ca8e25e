package graph

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Open reads a model file with its external data, all of it into memory, and checks it. Data files must lie in the model's folder or
// below, also behind links.
func Open(path string) (*Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := Check(m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	m.Tensors(func(t *Tensor) {
		if err == nil && t.IsExternal() {
			if err = t.load(dir); err != nil {
				err = fmt.Errorf("%s: tensor %q: %w", path, t.Name, err)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// load reads external data into Raw. dir refuses paths that lead out of it.
func (t *Tensor) load(dir *os.Root) error {
	location := t.Location()
	info, err := dir.Stat(location)
	if err != nil {
		return fmt.Errorf("its external data: %w; put the file itself into the model's folder", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("its external data in %q is no file; put the file itself into the model's folder", location)
	}
	size, ok := t.bytes()
	if !ok {
		return fmt.Errorf("elements %s in external data; expected numbers, export the model anew", t.Type)
	}
	offset, length := int64(0), size
	for _, e := range t.External {
		to := map[string]*int64{"offset": &offset, "length": &length}[e.Key]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseInt(e.Value, 10, 64); err != nil || *to < 0 {
			return fmt.Errorf("external data has %s %q; expected a number of bytes, export the model anew", e.Key, e.Value)
		}
	}
	if length != size {
		return fmt.Errorf("external data has %d bytes; expected %d for %s%v, export the model anew", length, size, t.Type, t.Dims)
	}
	if offset > info.Size() || length > info.Size()-offset {
		return fmt.Errorf("external data begins at byte %d of %q and has %d, the file has %d; it is truncated, copy it again", offset, location, length, info.Size())
	}
	f, err := dir.Open(location)
	if err != nil {
		return err
	}
	defer f.Close()
	raw := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, length), raw); err != nil {
		return fmt.Errorf("external data in %q: %w; copy the file again", location, err)
	}
	t.Raw, t.External, t.external = raw, nil, false
	return nil
}
