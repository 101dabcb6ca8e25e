package forward

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Model is a denoiser's ONNX file.
type Model struct {
	Name   string // for messages
	Data   []byte // the file's bytes, which must not change until Configure is done; or
	Path   string // the file
	Dir    string // folder of external data; the file's own by default
	MaskID int32
	PadID  int32
	V      int // width of the logits; 0 takes what the graph says

	// LogitsShift is 1 for models made of autoregressive ones, whose logits of position i are for the token at i+1: they are
	// moved to that position, and position 0 keeps its own (Dream; P2, section 3.2). 0 for all others.
	LogitsShift int
}

// Read returns the model's bytes with room behind them for the head.
func (m *Model) Read() ([]byte, error) {
	if m.Path == "" {
		if len(m.Data) == 0 {
			return nil, fmt.Errorf("model %s: neither a path nor data is given", m.Name)
		}
		return m.Data[:len(m.Data):len(m.Data)], nil
	}
	if m.Name == "" {
		m.Name = m.Path
	}
	if m.Dir == "" {
		m.Dir = filepath.Dir(m.Path)
	}
	f, err := os.Open(m.Path)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, fmt.Errorf("model %s: %s is not a file with something in it; give the .onnx file", m.Name, m.Path)
	}
	b := make([]byte, info.Size(), info.Size()+1<<16)
	for n := 0; n < len(b); {
		k, err := f.Read(b[n:])
		if err != nil {
			return nil, fmt.Errorf("model %s: %s: %w after %d of %d bytes", m.Name, m.Path, err, n, len(b))
		}
		n += k
	}
	return b, nil
}

// Wrap puts the model before an error.
func (m *Model) Wrap(err error) error { return fmt.Errorf("model %s: %w", m.Name, err) }

// CheckExternal tells whether some tensors are in other files. It makes sure that every file of external data lies inside the model's folder and is long enough, before
// anything opens it.
func (m *Model) CheckExternal(decoded *graph.Model) (bool, error) {
	var err error
	any := false
	decoded.Tensors(func(t *graph.Tensor) {
		if err != nil || !t.IsExternal() {
			return
		}
		any = true
		err = m.checkExternalTensor(t)
	})
	return any, err
}

func (m *Model) checkExternalTensor(t *graph.Tensor) error {
	location := t.Location()
	if m.Dir == "" {
		return fmt.Errorf("tensor %q has external data in %q, and the model has no folder; give one, or a model in one file", t.Name, location)
	}
	if !filepath.IsLocal(location) {
		return fmt.Errorf("tensor %q has external data in %q, outside the model's folder %s; put the file into the folder and export the model anew", t.Name, location, m.Dir)
	}
	dir, err := filepath.EvalSymlinks(m.Dir)
	if err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(filepath.Join(m.Dir, location))
	if err != nil {
		return fmt.Errorf("tensor %q: its external data is missing: %w; copy the file beside the model", t.Name, err)
	}
	if rel, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("tensor %q has external data in %q, which leads to %s outside the model's folder %s; put the file itself there", t.Name, location, path, m.Dir)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	offset, length := int64(0), int64(0)
	for _, e := range t.External {
		to := map[string]*int64{"offset": &offset, "length": &length}[e.Key]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseInt(e.Value, 10, 64); err != nil || *to < 0 {
			return fmt.Errorf("tensor %q: external data has %s %q, expected a number of bytes; export the model anew", t.Name, e.Key, e.Value)
		}
	}
	if offset > info.Size() || length > info.Size()-offset {
		return fmt.Errorf("tensor %q: external data ends at byte %d of %s, which has %d; the file is truncated, copy it again", t.Name, offset+length, path, info.Size())
	}
	return nil
}
