package graph

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// A model file ends at 2 GiB, because protobuf does. Initializers of bigger models go to a second file beside it.
const (
	FileData      = 1_500_000_000 // bytes of initializers that stay in the model file
	externalLeast = 1024          // bytes of an initializer that is worth its place in the second file
	externalPage  = 4096          // alignment there, so that the runtime can map it
	FileLimit     = 1<<31 - 1     // bytes of a model file
)

// Save writes a checked model, whole or not at all. Where its initializers have more than 1.5 GB, those of at least 1 KiB go to
// one file beside it, named like "model.onnx.data"; a model that stood there stays readable until the new one is in its place.
func Save(path string, m *Model) error { return save(path, m, FileData) }

func save(path string, m *Model, limit int64) error {
	failed := func(err error) error { return fmt.Errorf("%s: %w; nothing was changed", path, err) }
	if err := Check(m); err != nil {
		return failed(err)
	}
	if places := m.External(); len(places) > 0 {
		return failed(fmt.Errorf("the model has data in %q; read it with graph.Open first", places))
	}
	used := oldData(path)
	data := path + ".data"
	if slices.Contains(used, data) { // the old model needs it until the new one is there
		data = path + ".1.data"
	}
	inside, outside := m.divide(limit, filepath.Base(data))
	if len(outside) > 0 {
		err := wholefile.Replace(data, func(w io.Writer) error { return writeData(w, outside) })
		if err == nil {
			err = wholefile.SyncDir(filepath.Dir(path)) // before the model that needs it
		}
		if err != nil {
			return failed(err)
		}
	}
	encoded := inside.Encode()
	err := error(nil)
	if len(encoded) > FileLimit {
		err = fmt.Errorf("%d bytes without the data that can be moved out; expected at most %d, make a smaller model", len(encoded), FileLimit)
	} else {
		err = wholefile.ReplaceBytes(path, encoded)
	}
	if err != nil {
		if len(outside) > 0 {
			_ = os.Remove(data)
		}
		return failed(err)
	}
	for _, old := range used {
		if len(outside) == 0 || old != data {
			_ = os.Remove(old) // nothing reads it any more
		}
	}
	if err := wholefile.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: the model is written, its folder is not yet on the disk: %w; write it again", path, err)
	}
	return nil
}

// oldData lists the data files that Save wrote for the model that stands at path.
func oldData(path string) []string {
	var out []string
	for _, ours := range []string{path + ".data", path + ".1.data"} {
		if _, err := os.Lstat(ours); err == nil {
			out = append(out, ours)
		}
	}
	if len(out) == 0 {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	m, err := Decode(b)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(out, func(ours string) bool { return !slices.Contains(m.External(), filepath.Base(ours)) })
}

// Divide prepares a model for a file beside another one: where its initializers have more than limit bytes ([FileData] is what a file holds
// well), those of at least 1 KiB are references to a file at location, relative to the model's folder, which data writes; else data is nil and the
// model as it came.
func Divide(m *Model, location string, limit int64) (divided *Model, data func(io.Writer) error) {
	inside, outside := m.divide(limit, location)
	if len(outside) == 0 {
		return inside, nil
	}
	return inside, func(w io.Writer) error { return writeData(w, outside) }
}

// divide is the model with big initializers at location, and these initializers in the order in which they stand there.
func (m *Model) divide(limit int64, location string) (*Model, []*Tensor) {
	total := int64(0)
	for _, t := range m.Graph.Initializers {
		n, _ := t.bytes()
		total += n
	}
	if total <= limit {
		return m, nil
	}
	out, g := *m, *m.Graph
	out.Graph, g.Initializers = &g, slices.Clone(g.Initializers)
	var outside []*Tensor
	at := int64(0)
	for i, t := range g.Initializers {
		raw := t.withRaw()
		if len(raw.Raw) < externalLeast {
			continue
		}
		at = align(at)
		g.Initializers[i] = &Tensor{Name: t.Name, Type: t.Type, Dims: t.Dims, Unknown: t.Unknown, External: []Entry{
			{"location", location}, {"offset", strconv.FormatInt(at, 10)}, {"length", strconv.Itoa(len(raw.Raw))}}}
		at += int64(len(raw.Raw))
		outside = append(outside, raw)
	}
	return &out, outside
}

func align(at int64) int64 { return (at + externalPage - 1) / externalPage * externalPage }

func writeData(w io.Writer, list []*Tensor) error {
	at := int64(0)
	for _, t := range list {
		if _, err := w.Write(make([]byte, align(at)-at)); err != nil {
			return err
		}
		if _, err := w.Write(t.Raw); err != nil {
			return err
		}
		at = align(at) + int64(len(t.Raw))
	}
	return nil
}
