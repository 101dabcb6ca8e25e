package network

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// The files of a model directory that [WriteModelDir] writes.
const (
	configName     = "config.json"
	manifestName   = "mdm.json"
	tokenizerName  = "tokenizer.json"
	generationName = "generation_config.json"
	onnxName       = "onnx/model.onnx"
	linkedName     = "model.onnx" // of a linked model: beside its parameters
	parametersName = "model.safetensors"
)

// ModelDir is what a model directory is made of.
type ModelDir struct {
	Config     Config
	Values     Values
	Tokenizer  []byte            // tokenizer.json, copied as it is
	Special    *Special          // nil: what the tokenizer's spellings say
	Manifest   *model.Manifest   // nil: a masked model with the linear schedule; its time.input and digests are set here
	Generation map[string]any    // generation_config.json: default planner, sampler and their settings; nil: no file
	Export     ExportOptions     // of onnx/model.onnx
	Linked     bool              // model.onnx, in its place, links model.safetensors instead of holding the parameters once more; so do models beyond 2 GiB
	DType      safetensors.DType // of model.safetensors: F32 (the default), F16 or BF16
	Files      map[string][]byte // further ones by path, such as LICENSE or prompts.jsonl

	// Extra are further tensors of model.safetensors, written as they are; [Extra] reads them back. Their names begin with
	// [OrderPrefix] or [SchedulePrefix].
	Extra []safetensors.Tensor
}

// linkedFrom is the size of parameters in bytes from which a model is linked: an ONNX file holds at most 2 GiB.
const linkedFrom = 1_900_000_000

// WriteModelDir writes a model directory that samples (package model opens it) and can be trained on ([Load] reads it).
// It is written beside dir and opened as a test before it takes the name, whole or not at all. A model directory that is
// there already is replaced, unless it holds files that the new one lacks: then nothing is changed.
func WriteModelDir(dir string, m ModelDir) error {
	files, err := m.files()
	if err != nil {
		return fmt.Errorf("model %s: %w", dir, err)
	}
	if m.Config.Judges() || m.Manifest != nil && m.Manifest.Planner != nil {
		return model.WriteFiles(dir, files, model.AsPlanner())
	}
	return model.WriteFiles(dir, files)
}

// files are the contents by path.
func (m ModelDir) files() (wholefile.Files, error) {
	fill(&m.DType, safetensors.F32)
	tensors, err := m.Values.tensors(m.Config, m.DType)
	if err != nil {
		return nil, err
	}
	if err := checkExtra(m.Extra); err != nil {
		return nil, err
	}
	tensors = append(tensors, m.Extra...)
	safetensors.Sort(tensors)
	name, onnx, err := m.onnx(tensors)
	if err != nil {
		return nil, err
	}
	files := wholefile.Files{name: wholefile.Bytes(onnx.Encode()), tokenizerName: wholefile.Bytes(m.Tokenizer),
		parametersName: func(w io.Writer) error { return safetensors.Encode(w, tensors, metadata) }}
	digests := map[string]string{}
	for name, write := range files {
		sum := sha256.New()
		if err := write(sum); err != nil {
			return nil, err
		}
		digests[name] = hex.EncodeToString(sum.Sum(nil))
	}
	texts := map[string]func() (any, error){configName: m.config, manifestName: func() (any, error) { return m.manifest(digests) }}
	if m.Generation != nil {
		texts[generationName] = func() (any, error) { return m.Generation, nil }
	}
	for name, value := range texts {
		v, err := value()
		if err != nil {
			return nil, err
		}
		text, err := indented(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = wholefile.Bytes(text)
	}
	for name, b := range m.Files {
		if _, taken := files[name]; taken || !filepath.IsLocal(name) || path.Clean(name) != name {
			return nil, fmt.Errorf("file %q: expected the clean path of a file that the model does not have by itself", name)
		}
		files[name] = wholefile.Bytes(b)
	}
	return files, nil
}

// metadata is that of model.safetensors: how Hugging Face marks files of PyTorch's layouts.
var metadata = map[string]string{"format": "pt"}

// onnx is the ONNX file and its name; tensors are those of model.safetensors.
func (m ModelDir) onnx(tensors []safetensors.Tensor) (string, *graph.Model, error) {
	size := 4 * ParamCount(m.Config)
	if m.Export.Precision == Float16 {
		size /= 2
	}
	if !m.Linked && size < linkedFrom {
		onnx, err := Export(m.Config, m.Values, m.Export)
		return onnxName, onnx, err
	}
	if err := m.Values.check(m.Config); err != nil {
		return "", nil, err
	}
	layout, err := LayoutOf(tensors, metadata)
	if err != nil {
		return "", nil, err
	}
	o := m.Export
	o.Precision = "" // that of model.safetensors
	onnx, err := ExportLinked(m.Config, layout, parametersName, o)
	return linkedName, onnx, err
}
