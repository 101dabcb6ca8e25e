// Package onnx exports models as ONNX files for any host: in several precisions, for any number of rows and positions or fixed ones, and
// with a statistics head for hosts that have none. An export is a model directory, which this program opens, too.
package onnx

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"text/template"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

//go:embed README.md.tmpl
var readmeText string

var readme = template.Must(template.New("README.md").Parse(readmeText))

type target struct{}

// New returns the target.
func New() exporters.Target { return target{} }

func (target) Info() exporters.Info {
	return exporters.Info{
		Name:       "onnx",
		Summary:    "an ONNX file for any host, in several precisions, if asked for with proposals and statistics",
		Stack:      "ONNX Runtime",
		Needs:      []string{"nothing; with python3 and onnxruntime, safetensors and numpy, Python answers, too"},
		Options:    []string{"precision", "head", "rows", "length"},
		Precisions: precisions,
	}
}

func (target) Check(s *exporters.Source, o exporters.Options) error { return Check(s, o) }

// Check refuses options that no graph of the source can have. What the graph itself does not allow is the error of [Graph].
func Check(s *exporters.Source, o exporters.Options) error {
	prefix, suffix := s.Tokenizer.Template()
	least, length := len(prefix)+len(suffix)+1, s.Manifest.Length
	switch {
	case o.Head != "" && o.Head != exporters.HeadNone && o.Head != exporters.HeadStatistics:
		return fmt.Errorf("head %q: expected %s or %s", o.Head, exporters.HeadNone, exporters.HeadStatistics)
	case s.Statistics:
		return fmt.Errorf("model %s: carries the statistics head of an export; export the model that it was made from", s.Name)
	case o.Rows < 0:
		return fmt.Errorf("rows %d: expected at least 1, or 0 for any number", o.Rows)
	case o.Length < 0:
		return fmt.Errorf("length %d: expected at least 1, or 0 for any number", o.Length)
	case o.Length > 0 && s.MaxLength > 0 && o.Length > s.MaxLength:
		return fmt.Errorf("length %d: model %s takes rows of at most %d positions; give at most that, or leave the option out", o.Length, s.Name, s.MaxLength)
	case o.Length > 0 && o.Length < least:
		return fmt.Errorf("length %d: rows of model %s have %d special tokens; expected at least %d", o.Length, s.Name, least-1, least)
	case o.Length > 0 && length.Policy == "fixed" && o.Length != length.Cap:
		return fmt.Errorf("length %d: rows of model %s have %d positions (mdm.json: length); give that, or leave the option out", o.Length, s.Name, length.Cap)
	case o.Head == exporters.HeadStatistics && s.Graph.Opset("") < graph.MinOpset:
		return fmt.Errorf("model %s: head statistics needs opset %d or newer, its graph has %d; export it anew with that opset, or with --head none", s.Name, graph.MinOpset, s.Graph.Opset(""))
	}
	return nil
}

func (target) Files(ctx context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	m, err := Graph(ctx, s, o)
	if err != nil {
		return nil, err
	}
	files, err := Files(ctx, s, m, script("engine.py"), graph.FileData)
	if err != nil {
		return nil, err
	}
	text, err := Readme(readme, s, o, m)
	files["README.md"] = wholefile.Bytes(text)
	return files, err
}

func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	r, err := Reference(ctx, s, o)
	if err != nil {
		return nil, err
	}
	m, err := model.Open(dir)
	if err != nil {
		return nil, err
	}
	v, err := r.CompareModel(ctx, m, s.Library)
	if err != nil {
		return nil, err
	}
	python, err := exporters.VerifyPython(ctx, o, Verifier(), dir, r)
	switch {
	case err == nil:
		v = worst(v, python)
	case errors.Is(err, exporters.ErrNoStack): // this program's runtime has answered
	default:
		return nil, err
	}
	return v, nil
}
