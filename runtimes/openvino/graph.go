package openvino

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/openvino/internal/capi"
)

// source is the model with what its plan appends, as OpenVINO reads it: without functions, which its front end does not know, and
// without what the outputs do not need. Its values are those that the session takes and gives. It is there until done.
func (d *Denoiser) source() (_ capi.Source, values []string, done func(), err error) {
	failed := func(err error) (capi.Source, []string, func(), error) {
		return capi.Source{}, nil, nil, d.model.Wrap(err)
	}
	more, err := graph.Decode(d.appended)
	if err != nil {
		return failed(err)
	}
	m, err := graph.Portable(join(d.decoded, more))
	if err != nil {
		return failed(err)
	}
	if m, err = graph.Inline(m, func(*graph.Function) bool { return true }); err != nil {
		return failed(err)
	}
	m = graph.Keep(m, d.plan.Outputs...)
	for _, v := range m.Graph.Feeds() {
		values = append(values, v.Name)
	}
	values = append(values, d.plan.Outputs...)
	if !d.ports.External {
		return capi.Source{Bytes: m.Encode()}, values, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "mdmhost-openvino-*")
	if err != nil {
		return failed(err)
	}
	done = func() { _ = os.RemoveAll(dir) }
	path := filepath.Join(dir, "model.onnx")
	err = d.takeAlong(m, dir)
	if err == nil {
		err = os.WriteFile(path, m.Encode(), 0o600)
	}
	if err != nil {
		done()
		return failed(fmt.Errorf("with its head in a folder of its own: %w; make room there, or name another with TMPDIR", err))
	}
	return capi.Source{Path: path}, values, done, nil
}

// join is what a reader makes of the bytes of one model followed by those of another.
func join(m, more *graph.Model) *graph.Model {
	out, g := *m, *m.Graph
	out.Graph, out.IRVersion = &g, max(m.IRVersion, more.IRVersion)
	g.Nodes, g.Inputs, g.Outputs = slices.Concat(g.Nodes, more.Graph.Nodes), slices.Concat(g.Inputs, more.Graph.Inputs), slices.Concat(g.Outputs, more.Graph.Outputs)
	g.Initializers = slices.Concat(g.Initializers, more.Graph.Initializers)
	out.Opsets, out.Functions = slices.Concat(m.Opsets, more.Opsets), slices.Concat(m.Functions, more.Functions)
	return &out
}

// takeAlong puts the files with the model's external data into a folder: OpenVINO reads none outside the model's own, links included.
func (d *Denoiser) takeAlong(m *graph.Model, dir string) (err error) {
	taken := map[string]bool{}
	m.Tensors(func(t *graph.Tensor) {
		if err != nil || !t.IsExternal() || taken[t.Location()] {
			return
		}
		taken[t.Location()] = true
		to := filepath.Join(dir, t.Location())
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return
		}
		var from string
		if from, err = filepath.EvalSymlinks(filepath.Join(d.model.Dir, t.Location())); err == nil && os.Link(from, to) != nil {
			err = copyFile(from, to)
		}
	})
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
