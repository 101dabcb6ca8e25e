// Package safetensors is the target that takes parameters and configuration elsewhere as they are: config.json, mdm.json, the tokenizer, and
// model.safetensors, which Hugging Face's libraries in Python, Rust and JavaScript read. Where its elements are asked for as the
// model has them, the file is the model's own, byte by byte. A small model.onnx links it, so that the export is a model directory
// again: it samples, trains, and is exported to the same bytes.
package safetensors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Name is the target's.
const Name = "safetensors"

// Stored asks for the elements that the model's own model.safetensors has.
const Stored = "stored"

// The files of the export that are not the source's.
const (
	weightsName = "model.safetensors"
	onnxName    = "model.onnx"
)

var metadata = map[string]string{"format": "pt"}

// types are the elements of precisions.
var types = map[string]safetensors.DType{exporters.FP32: safetensors.F32, exporters.FP16: safetensors.F16, exporters.BF16: safetensors.BF16}

type target struct{}

// New returns the target.
func New() exporters.Target { return target{} }

// Info implements [exporters.Target].
func (target) Info() exporters.Info {
	return exporters.Info{
		Name: Name, Summary: "parameters and configuration, byte by byte, for programs of your own", Stack: "Python's safetensors",
		Needs: []string{"python3 with safetensors"}, Options: []string{"precision"},
		Precisions: []string{Stored, exporters.FP32, exporters.FP16, exporters.BF16},
	}
}

// Check implements [exporters.Target].
func (target) Check(s *exporters.Source, _ exporters.Options) error { return s.Why }

// Files implements [exporters.Target].
func (target) Files(_ context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	w, err := open(s, o.Precision)
	if err != nil {
		return nil, err
	}
	files, err := s.About()
	if err != nil {
		return nil, err
	}
	onnx, err := w.graph(*s.Config)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	sum := sha256.New()
	if err := w.write(sum); err != nil {
		return nil, err
	}
	tokenizer, err := s.ReadFile("tokenizer.json")
	if err != nil {
		return nil, err
	}
	manifest, err := s.ManifestJSON(map[string]string{weightsName: hex.EncodeToString(sum.Sum(nil)), "tokenizer.json": digest(tokenizer), onnxName: digest(onnx)})
	if err != nil {
		return nil, err
	}
	config, err := w.config(s)
	if err != nil {
		return nil, err
	}
	files["config.json"], files["mdm.json"], files[onnxName], files[weightsName] = wholefile.Bytes(config), wholefile.Bytes(manifest), wholefile.Bytes(onnx), w.write
	return files, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// weights is model.safetensors as it is exported.
type weights struct {
	file    []byte // the model's own, or nil where it is written anew
	tensors []safetensors.Tensor
	dtype   safetensors.DType
	own     bool // config.json is the model's, and says dtype
}

// open reads the model's own parameters, and converts them if another precision is asked for. Models without a model.safetensors of
// this program's names have those of their ONNX file.
func open(s *exporters.Source, precision string) (*weights, error) {
	names := map[string]bool{}
	for _, p := range network.Params(*s.Config) {
		names[p.Name] = true
	}
	file, err := s.ReadFile(weightsName)
	own := s.Model.Config.ModelType == network.ModelType && err == nil
	var all []safetensors.Tensor
	switch {
	case own:
		f, err := safetensors.Parse(weightsName, file)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", s.Name, err)
		}
		all = f.Tensors()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	default:
		for _, p := range network.Params(*s.Config) {
			all = append(all, safetensors.Of(p.Name, p.Shape, s.Values[p.Name]))
		}
	}
	w := &weights{tensors: all, dtype: types[precision], own: own}
	for _, t := range all {
		if names[t.Name] && w.dtype == "" {
			w.dtype = t.DType
		}
	}
	same := true
	for i, t := range all {
		if names[t.Name] && t.DType != w.dtype && precision != Stored { // of mixed files, Stored keeps the mixture
			same = false
			if w.tensors[i], err = t.To(w.dtype); err != nil {
				return nil, fmt.Errorf("model %s: %w", s.Name, err)
			}
		}
	}
	if own && same {
		w.file = file
		return w, nil
	}
	w.own = false
	safetensors.Sort(w.tensors)
	return w, nil
}

// write writes the file.
func (w *weights) write(to io.Writer) error {
	if w.file != nil {
		_, err := io.Copy(to, bytes.NewReader(w.file))
		return err
	}
	return safetensors.Encode(to, w.tensors, metadata)
}

// graph is model.onnx, whose parameters are those of the file.
func (w *weights) graph(c network.Config) ([]byte, error) {
	layout, err := network.LayoutOf(w.tensors, metadata)
	if err != nil {
		return nil, err
	}
	if w.file != nil { // another program may have written its header
		at := 8 + int64(binary.LittleEndian.Uint64(w.file))
		for _, t := range w.tensors {
			n := int64(len(t.Data))
			layout[t.Name] = network.Place{DType: t.DType, Shape: t.Shape, Offset: at, Length: n}
			at += n
		}
	}
	m, err := network.ExportLinked(c, layout, weightsName, network.ExportOptions{})
	if err != nil {
		return nil, err
	}
	return m.Encode(), nil
}

// config is config.json, which says what elements the parameters have.
func (w *weights) config(s *exporters.Source) ([]byte, error) {
	if w.own {
		return s.ReadFile("config.json")
	}
	m := s.Model
	return s.Config.JSON(network.Special{Mask: m.MaskID, Pad: m.Config.Pad, BOS: m.Config.BOS, EOS: m.Config.EOS}, w.dtype)
}
