// Package web exports models as pages: one folder that any file server hands out, in which ONNX Runtime's WebAssembly build runs the network in
// the visitor's browser, and planners and samplers in JavaScript fill a canvas before their eyes.
package web

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// assets is the page, as it is copied into every export.
//
//go:embed assets
var assets embed.FS

// graphFile is the network's place in an export.
const graphFile = "onnx/model.onnx"

// New returns the target "web".
func New() exporters.Target { return target{} }

type target struct{}

// Info implements [exporters.Target].
func (target) Info() exporters.Info {
	return exporters.Info{
		Name:       "web",
		Summary:    "a folder for any file server: the model runs in the browser, with a page that shows its canvas fill",
		Stack:      "ONNX Runtime Web " + runtimeVersion + " in Chromium",
		Needs:      []string{"Chromium or Chrome (on the path, or --browser FILE)"},
		Options:    []string{"precision"},
		Precisions: []string{exporters.FP32, exporters.FP16Weights, exporters.INT8},
	}
}

// Check implements [exporters.Target].
func (target) Check(s *exporters.Source, _ exporters.Options) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("model %s: %s", s.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case s.FixedRows() > 1:
		return bad("its graph takes %d rows at once, and the page has one; export the model with any number of rows, or take it elsewhere with --to onnx", s.FixedRows())
	case s.Manifest.LogitsShift != 0:
		return bad("mdm.json says that its logits are for the next position (logits_shift); bring its checkpoint in with `mdmhost import`, which shifts inside the network, and export that")
	case s.AttentionBias:
		return bad("its graph takes attention_bias, which the page does not feed; export the model without it, or take it elsewhere with --to onnx")
	}
	tokenizer, err := s.ReadFile("tokenizer.json")
	if err != nil {
		return bad("%v", err)
	}
	return readable(s.Name, tokenizer)
}

// Files implements [exporters.Target].
func (target) Files(ctx context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	files, err := s.About()
	if err != nil {
		return nil, err
	}
	config, err := s.ReadFile("config.json")
	if err != nil {
		return nil, err
	}
	manifest, err := s.ManifestJSON(nil)
	if err != nil {
		return nil, err
	}
	files["config.json"], files["mdm.json"] = wholefile.Bytes(config), wholefile.Bytes(manifest)
	o.Head = exporters.HeadStatistics
	graph, err := onnx.Graph(ctx, s, o)
	if err != nil {
		return nil, err
	}
	encoded := graph.Encode()
	if len(encoded) > math.MaxInt32 {
		return nil, fmt.Errorf("model %s: its graph has %d bytes, expected at most %d, which is what browsers read; give --precision int8 or fp16-weights, or take it elsewhere with --to transformers", s.Name, len(encoded), math.MaxInt32)
	}
	files[graphFile] = wholefile.Bytes(encoded)
	facts, err := describe(s, o, len(encoded))
	if err != nil {
		return nil, err
	}
	page, err := json.MarshalIndent(facts, "", " ")
	if err != nil {
		return nil, err
	}
	files["page.json"] = wholefile.Bytes(append(page, '\n'))
	if err := copyAll(files, assets, "assets"); err != nil {
		return nil, err
	}
	return files, vendor(ctx, o, files)
}

// copyAll adds the files of a folder of fsys.
func copyAll(files wholefile.Files, fsys fs.FS, dir string) error {
	below, err := fs.Sub(fsys, dir)
	if err != nil {
		return err
	}
	return fs.WalkDir(below, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(below, name)
		files[name] = wholefile.Bytes(b)
		return err
	})
}
