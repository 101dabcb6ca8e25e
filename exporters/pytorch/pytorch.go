// Package pytorch takes models to plain PyTorch: one readable module, its parameters, and scripts that sample from it and train it on, so that
// the model lives on without this program.
package pytorch

import (
	"context"
	"embed"
	"fmt"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// scripts are the Python files of this package.
//
//go:embed *.py
var scripts embed.FS

// Script is one of this package's Python files: "model.py".
func Script(name string) []byte {
	b, err := scripts.ReadFile(name)
	if err != nil {
		panic(err) // the name is not one of them
	}
	return b
}

type target struct{}

// New returns the target.
func New() exporters.Target { return target{} }

func (target) Info() exporters.Info {
	return exporters.Info{
		Name:       "pytorch",
		Summary:    "a module in plain PyTorch, with scripts that sample and train",
		Stack:      "PyTorch",
		Needs:      []string{"python3 with torch, safetensors and numpy"},
		Options:    []string{"precision"},
		Precisions: []string{exporters.FP32, exporters.FP16Weights},
	}
}

func (target) Check(s *exporters.Source, _ exporters.Options) error { return Check(s) }

// Check refuses models that model.py does not express.
func Check(s *exporters.Source) error {
	switch {
	case s.Config == nil:
		return s.Why
	case s.Config.Judges():
		return fmt.Errorf("model %s: is a planner network, which proposes no tokens; export it with --to safetensors", s.Name)
	case s.Manifest.LogitsShift != 0:
		return fmt.Errorf("model %s: mdm.json says that its logits are for the next position (logits_shift); bring its checkpoint in with `mdmhost import`, which shifts inside the network, and export that", s.Name)
	}
	return nil
}

func (target) Files(_ context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	files, err := Network(s, o, nil)
	if err != nil {
		return nil, err
	}
	sample, scripts := Sampler(s)
	for _, name := range append(scripts, "denoiser.py", "train.py") {
		files[name] = wholefile.Bytes(Script(name))
	}
	text, err := readme(s, o, sample)
	if err != nil {
		return nil, err
	}
	files["README.md"] = wholefile.Bytes(text)
	return files, nil
}

// Sampler is the script that samples from a model, and the names of all its files. They are the same in every stack: denoiser.py, which runs the
// network, is the stack's own.
func Sampler(s *exporters.Source) (main string, files []string) {
	if s.Insertion() {
		return "sample_insertion.py", []string{"sample_insertion.py", "noise.py", "rows.py"}
	}
	return "sample.py", []string{"sample.py", "planners.py", "noise.py", "rows.py"}
}

func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	r, err := s.Reference(ctx)
	if err != nil {
		return nil, err
	}
	return exporters.VerifyPython(ctx, o, Script("verify.py"), dir, r)
}
