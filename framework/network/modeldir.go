package network

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// The files of a model directory that [WriteModelDir] writes.
const (
	configName     = "config.json"
	manifestName   = "mdm.json"
	tokenizerName  = "tokenizer.json"
	generationName = "generation_config.json"
	onnxName       = "onnx/model.onnx"
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
	DType      safetensors.DType // of model.safetensors: F32 (the default), F16 or BF16
	Files      map[string][]byte // further ones by path, such as LICENSE or prompts.jsonl

	// Extra are further tensors of model.safetensors, written as they are; [Extra] reads them back. Their names begin with
	// [OrderPrefix] or [SchedulePrefix].
	Extra []safetensors.Tensor
}

// WriteModelDir writes a model directory that samples (package model opens it) and can be trained on ([Load] reads it).
// It is written beside dir and opened as a test before it takes the name, whole or not at all. A model directory that is
// there already is replaced, unless it holds files that the new one lacks: then nothing is changed.
func WriteModelDir(dir string, m ModelDir) error {
	files, err := m.files()
	if err != nil {
		return fmt.Errorf("model %s: %w", dir, err)
	}
	if m.Config.Judges() || m.Manifest != nil && m.Manifest.Planner != nil {
		return model.WriteDir(dir, files, model.AsPlanner())
	}
	return model.WriteDir(dir, files)
}

// files are the contents by path.
func (m ModelDir) files() (map[string][]byte, error) {
	onnx, err := Export(m.Config, m.Values, m.Export)
	if err != nil {
		return nil, err
	}
	encoded := onnx.Encode()
	if len(encoded) > 1<<31-1 {
		return nil, fmt.Errorf("%s: has %d bytes, and an ONNX file holds at most 2 GiB; export with precision %s", onnxName, len(encoded), Float16)
	}
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
	var parameters bytes.Buffer
	if err := safetensors.Encode(&parameters, tensors, map[string]string{"format": "pt"}); err != nil {
		return nil, err
	}
	content := map[string][]byte{onnxName: encoded, tokenizerName: m.Tokenizer, parametersName: parameters.Bytes()}
	digests := map[string]string{}
	for name, b := range content {
		sum := sha256.Sum256(b)
		digests[name] = hex.EncodeToString(sum[:])
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
		if content[name], err = indented(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, b := range m.Files {
		if _, taken := content[name]; taken || !filepath.IsLocal(name) || path.Clean(name) != name {
			return nil, fmt.Errorf("file %q: expected the clean path of a file that the model does not have by itself", name)
		}
		content[name] = b
	}
	return content, nil
}
