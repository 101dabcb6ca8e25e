// Package transformers takes models to Hugging Face's transformers: a directory that AutoModelForMaskedLM and AutoTokenizer open.
package transformers

import (
	"context"
	"embed"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// scripts are the classes, and the verifier.
//
//go:embed *.py
var scripts embed.FS

func script(name string) []byte {
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
		Name:       "transformers",
		Summary:    "a directory that from_pretrained opens, to compute and to fine-tune",
		Stack:      "transformers",
		Needs:      []string{"python3 with torch, transformers, safetensors and numpy"},
		Options:    []string{"precision"},
		Precisions: []string{exporters.FP32, exporters.FP16Weights},
	}
}

func (target) Check(s *exporters.Source, _ exporters.Options) error { return pytorch.Check(s) }

func (target) Files(_ context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	files, err := pytorch.Network(s, o, map[string]any{"auto_map": autoMap(s)})
	if err != nil {
		return nil, err
	}
	tokenizer, err := tokenizerConfig(s)
	if err != nil {
		return nil, err
	}
	readme, err := readme(s)
	if err != nil {
		return nil, err
	}
	files["tokenizer_config.json"] = wholefile.Bytes(tokenizer)
	files["README.md"] = wholefile.Bytes(readme)
	for _, name := range []string{"configuration_mdm.py", "modeling_mdm.py"} {
		files[name] = wholefile.Bytes(script(name))
	}
	return files, nil
}

func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	r, err := s.Reference(ctx)
	if err != nil {
		return nil, err
	}
	return exporters.VerifyPython(ctx, o, script("verify.py"), dir, r)
}

// auto is the class that opens the model.
func auto(s *exporters.Source) string {
	if s.Insertion() {
		return "AutoModel"
	}
	return "AutoModelForMaskedLM"
}

// autoMap says where from_pretrained finds the classes.
func autoMap(s *exporters.Source) map[string]string {
	return map[string]string{"AutoConfig": "configuration_mdm.MdmConfig", auto(s): "modeling_mdm." + pytorch.Architecture(*s.Config)}
}
