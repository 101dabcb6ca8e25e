package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// load reads external payloads into memory: what is trained must be known, and what is exported is one file.
func (r *reader) load(g *graph.Graph) error {
	for i, t := range g.Initializers {
		if !t.IsExternal() {
			continue
		}
		raw, err := r.payload(t)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		g.Initializers[i] = &graph.Tensor{Name: t.Name, Type: t.Type, Dims: t.Dims, Raw: raw, Unknown: t.Unknown}
	}
	return nil
}

func (r *reader) payload(t *graph.Tensor) ([]byte, error) {
	location := t.Location()
	if r.Dir == "" || !filepath.IsLocal(location) {
		return nil, fmt.Errorf("its data is in %q; expected a file in the model's folder %q, put it there", location, r.Dir)
	}
	offset, length := int64(0), int64(-1)
	for _, e := range t.External {
		to := map[string]*int64{"offset": &offset, "length": &length}[e.Key]
		if to == nil {
			continue
		}
		v, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("its external data has %s %q; expected a number of bytes, export the model anew", e.Key, e.Value)
		}
		*to = v
	}
	root, err := os.OpenRoot(r.Dir) // links that lead out of the folder are refused
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(location)
	if err != nil {
		return nil, fmt.Errorf("its external data is missing: %w; copy the file beside the model", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = info.Size() - offset
	}
	if !info.Mode().IsRegular() || offset > info.Size() || length > info.Size()-offset {
		return nil, fmt.Errorf("its external data ends beyond byte %d of %s; the file is truncated, copy it again", info.Size(), location)
	}
	raw := make([]byte, length)
	if _, err := f.ReadAt(raw, offset); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(r.Dir, location), err)
	}
	return raw, nil
}
