// Package gguf takes models to llama.cpp and what is built on it: one GGUF file of the architectures llada and dream, whose masked diffusion
// llama-diffusion-cli runs. It expresses networks with their layers alone; [Check] says of any other what is in the way.
package gguf

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// fileName is the export's one file.
const fileName = "model.gguf"

// precision is how matrices are written. Vectors are single precision always, as llama.cpp wants them.
type precision struct {
	dtype safetensors.DType
	kind  uint32 // ggml_type
	file  uint32 // general.file_type
}

var precisions = map[string]precision{
	exporters.FP32:        {safetensors.F32, 0, 0},
	exporters.FP16Weights: {safetensors.F16, 1, 1},
	exporters.BF16:        {safetensors.BF16, 30, 32},
}

type target struct{}

// New returns the target.
func New() exporters.Target { return target{} }

// Info implements [exporters.Target].
func (target) Info() exporters.Info {
	return exporters.Info{
		Name: "gguf", Summary: "one file for llama.cpp, for networks such as LLaDA and Dream", Stack: "llama.cpp",
		Needs:   []string{"python3 with gguf and safetensors, which read the file back; with llama-cpp-python, llama.cpp answers, too"},
		Options: []string{"precision"}, Precisions: []string{exporters.FP32, exporters.FP16Weights, exporters.BF16},
	}
}

// Files implements [exporters.Target].
func (target) Files(_ context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	f, err := fileOf(s, precisions[o.Precision])
	if err != nil {
		return nil, err
	}
	return wholefile.Files{fileName: f.write}, nil
}

// fileOf is the GGUF file of a model that Check has passed.
func fileOf(s *exporters.Source, p precision) (*file, error) {
	text, err := s.ReadFile("tokenizer.json")
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	words, err := vocabulary(s, text)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	return &file{entries: append(metadata(s, p), words...), tensors: tensors(*s.Config, s.Values, p)}, nil
}

//go:embed verify.py
var verifier []byte

// Verify implements [exporters.Target]. Every tensor is read back by the package gguf and held against what was written, named and permuted
// as llama.cpp wants it; where llama-cpp-python is installed, llama.cpp answers as well.
func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (_ *exporters.Verdict, err error) {
	r, err := s.Reference(ctx)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "mdmhost-gguf-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	parameters := filepath.Join(tmp, "tensors.safetensors")
	if err := wholefile.Replace(parameters, func(w io.Writer) error { return writeExpected(w, s, precisions[o.Precision]) }); err != nil {
		return nil, err
	}
	return exporters.VerifyPython(ctx, o, verifier, dir, r, parameters)
}

// writeExpected writes the tensors that the file must hold.
func writeExpected(w io.Writer, s *exporters.Source, p precision) error {
	var out []safetensors.Tensor
	for _, t := range tensors(*s.Config, s.Values, p) {
		values, err := t.elements()
		if err != nil {
			return err
		}
		out = append(out, values)
	}
	safetensors.Sort(out)
	return safetensors.Encode(w, out, nil)
}
