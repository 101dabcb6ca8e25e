package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// Option changes how Open reads a model.
type Option func(*options)

type options struct {
	precision string
	planner   bool // planner networks, and what can be one
	any       bool // whatever there is
}

// Precision picks onnx/model_NAME.onnx, such as "fp16", instead of onnx/model.onnx.
func Precision(name string) Option { return func(o *options) { o.precision = name } }

// AsPlanner opens a planner network: a model of family "planner", or any masked language model, which is one with the head
// vocabulary. Without it such networks are refused.
func AsPlanner() Option { return func(o *options) { o.planner = true } }

// AnyFamily opens denoisers and planner networks alike: to show them.
func AnyFamily() Option { return func(o *options) { o.any = true } }

// Open opens an embedded model by its name (the default one by ""), or a model directory by its path: whatever has a path
// separator in it, or is an existing directory. A model that cannot be sampled from is refused with the reason.
func Open(ref string, opts ...Option) (*Model, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	f, err := find(ref)
	if err != nil {
		return nil, err
	}
	return f.open(o)
}

// About reads what a model says of itself, without its network: mdm.json and generation_config.json, nil where it has none.
func About(ref string) (*Manifest, []byte, error) {
	f, err := find(ref)
	if err != nil {
		return nil, nil, err
	}
	text, err := f.optional(manifestFileName)
	if err != nil {
		return nil, nil, err
	}
	m, err := ParseManifest(f.path(manifestFileName), text)
	if err != nil {
		return nil, nil, err
	}
	generation, err := f.optional(generationFileName)
	return m, generation, err
}

func find(ref string) (folder, error) {
	if ref == "" {
		ref = Default
	}
	if slices.Contains(Embedded(), ref) {
		sub, err := fs.Sub(embedded, "embedded/"+ref)
		return folder{FS: sub, name: ref}, err
	}
	info, err := os.Stat(ref)
	switch {
	case err == nil && info.IsDir():
		abs, err := filepath.Abs(ref)
		return folder{FS: os.DirFS(abs), name: filepath.Clean(ref), dir: abs}, err
	case err == nil:
		return folder{}, fmt.Errorf("model %s: is a file, expected the model directory that holds config.json, tokenizer.json and onnx/model.onnx", ref)
	case strings.ContainsRune(ref, filepath.Separator) && errors.Is(err, fs.ErrNotExist):
		return folder{}, fmt.Errorf("model %s: no such directory; give the path of a model directory, or one of the embedded models: %s", ref, strings.Join(Embedded(), ", "))
	case strings.ContainsRune(ref, filepath.Separator):
		return folder{}, fmt.Errorf("model %s: %w", ref, err)
	}
	return folder{}, fmt.Errorf("model %q: is neither embedded nor a directory; %s; a directory is given by its path, such as ./%s", ref, nearest(ref, Embedded()), ref)
}

// open reads and checks everything that sampling needs.
func (f folder) open(o options) (*Model, error) {
	config, tok, onnx, onnxName, err := f.required(o.precision)
	if err != nil {
		return nil, err
	}
	m := &Model{Name: f.name, Dir: f.dir, ONNXName: onnxName, ONNX: onnx, folder: f}
	if m.Config, err = ParseConfig(f.path(configFileName), config); err != nil {
		return nil, err
	}
	manifest, err := f.optional(manifestFileName)
	if err != nil {
		return nil, err
	}
	if m.Manifest, err = ParseManifest(f.path(manifestFileName), manifest); err != nil {
		return nil, err
	}
	if err := m.settleFamily(o); err != nil {
		return nil, err
	}
	if m.Tokenizer, err = tokenizer.Parse(f.path(tokenizerFileName), tok); err != nil {
		return nil, err
	}
	if m.Graph, m.Signature, err = f.readONNX(onnxName, onnx, m.Manifest.Planner); err != nil {
		return nil, err
	}
	if err := m.settleTime(manifest); err != nil {
		return nil, err
	}
	if err := m.settleVocabulary(); err != nil {
		return nil, err
	}
	m.settleLength()
	if err := m.readGeneration(); err != nil {
		return nil, err
	}
	if m.Examples, err = f.optional(examplesFileName); err != nil {
		return nil, err
	}
	m.symbols = replacer(m.Manifest.Infill.InputMap)
	return m, nil
}

// readONNX decodes the ONNX file and checks everything that a runtime would trust.
func (f folder) readONNX(name string, b []byte, p *Planner) (*graph.Model, *Signature, error) {
	where := f.path(name)
	if problem := notONNX(b); problem != "" {
		return nil, nil, fmt.Errorf("%s: %s", where, problem)
	}
	g, err := graph.Decode(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", where, err)
	}
	if g.Graph == nil || len(g.Graph.Outputs) == 0 {
		return nil, nil, fmt.Errorf("%s: has no graph; the file is cut off or no ONNX model: copy or export it again", where)
	}
	sizes := map[string]int64{}
	size := func(location string) (n int64, err error) {
		n, ok := sizes[location]
		if !ok {
			n, err = f.external(name, location)
			sizes[location] = n
		}
		return n, err
	}
	g.Tensors(func(t *graph.Tensor) {
		if err == nil {
			err = checkPayload(t, size)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", where, err)
	}
	s, err := Inspect(g.Graph, p)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", where, err)
	}
	return g, s, nil
}
