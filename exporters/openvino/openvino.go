// Package openvino exports models for OpenVINO: an ONNX graph of stock operators without functions, which its ONNX front end reads.
package openvino

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

//go:embed engine.py
var engine []byte

//go:embed README.md.tmpl
var readmeText string

var readme = template.Must(template.New("README.md").Parse(readmeText))

type target struct{}

// New returns the target.
func New() exporters.Target { return target{} }

func (target) Info() exporters.Info {
	return exporters.Info{
		Name:       "openvino",
		Summary:    "a graph that OpenVINO reads, for Intel's processors, with a script that samples",
		Stack:      "OpenVINO",
		Needs:      []string{"python3 with openvino, safetensors and numpy"},
		Options:    []string{"precision", "head", "rows", "length"},
		Precisions: []string{exporters.FP32, exporters.FP16Weights, exporters.INT8},
	}
}

func (target) Check(s *exporters.Source, o exporters.Options) error { return onnx.Check(s, o) }

func (target) Files(ctx context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	m, err := onnx.Graph(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if m, err = onnx.Plain(m); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if foreign := graph.Foreign(m); len(foreign) > 0 {
		return nil, fmt.Errorf("model %s: its graph calls %s, which are none of ONNX's operators, and OpenVINO does not have them; export with --to onnx, for ONNX Runtime", s.Name, strings.Join(foreign, ", "))
	}
	files, err := onnx.Files(ctx, s, m, engine, graph.FileData)
	if err != nil {
		return nil, err
	}
	text, err := onnx.Readme(readme, s, o, m)
	files["README.md"] = wholefile.Bytes(text)
	return files, err
}

func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	r, err := onnx.Reference(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return exporters.VerifyPython(ctx, o, onnx.Verifier(), dir, r)
}
