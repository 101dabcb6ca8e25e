package onnx

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
	runtime "github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Graph is the source's ONNX graph as o asks for it: precision, head, fixed rows and length. Its operators are ONNX's own, where they can be
// said so: those of ONNX Runtime that networks of ours call have functions of stock operators under their names, which ONNX Runtime replaces
// by its kernels and others inline ([Plain]). Types and shapes of values are written down, and so are the source's digest, the
// precision and the program's version. The graph holds all of its data itself. The error says what the graph or the options do not allow, or is that
// of ctx, which is asked between the stages.
func Graph(ctx context.Context, s *exporters.Source, o exporters.Options) (*graph.Model, error) {
	m, err := load(s)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m, err = fix(m, s.Name, o.Rows, o.Length); err != nil {
		return nil, err
	}
	if m, err = widen(m); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch o.Precision {
	case "", exporters.FP32:
		m = precision.Residuals(m) // shapes are written down below, and would make ONNX Runtime fuse what is slower fused
	case exporters.FP16Weights:
		m, err = precision.HalfWeights(m)
	case exporters.FP16:
		m, err = precision.Half(m)
	case exporters.INT8:
		m, err = precision.Int8(m)
	default:
		err = fmt.Errorf("precision is %q, expected %s", o.Precision, strings.Join(precisions, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Head == exporters.HeadStatistics {
		if m, err = runtime.WithStatistics(m, s.Name, s.V, s.Manifest.LogitsShift, s.Suppress()); err != nil {
			return nil, err
		}
	}
	if m, err = graph.Portable(m); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if err := graph.Check(m); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return describe(graph.WithShapes(m), s, o), nil
}

// Plain returns a graph of [Graph] without functions, for stacks that do not know them: each call is written out.
func Plain(m *graph.Model) (*graph.Model, error) {
	m, err := graph.Inline(m, func(*graph.Function) bool { return true })
	if err != nil {
		return nil, err
	}
	return graph.WithShapes(m), nil
}

var precisions = []string{exporters.FP32, exporters.FP16, exporters.FP16Weights, exporters.INT8}

// load is the source's graph with the data of other files in it.
func load(s *exporters.Source) (*graph.Model, error) {
	if len(s.Graph.External()) == 0 {
		return s.Graph, nil
	}
	m, err := graph.Open(filepath.Join(s.Dir, filepath.FromSlash(s.ONNXName)))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	return m, nil
}

// describe returns the model with where it comes from in its metadata, as Netron and ONNX Runtime show it, beside what stands there.
func describe(m *graph.Model, s *exporters.Source, o exporters.Options) *graph.Model {
	out := *m
	out.Producer = "mdmhost"
	out.Metadata = nil
	ours := []graph.Entry{{Key: "mdm.model", Value: filepath.Base(s.Name)}, {Key: "mdm.model_digest", Value: s.Digest}, {Key: "mdm.precision", Value: cmp.Or(o.Precision, exporters.FP32)},
		{Key: "mdm.head", Value: cmp.Or(o.Head, exporters.HeadNone)}, {Key: "mdm.mdmhost", Value: cmp.Or(o.Version, "unknown")}}
	for _, e := range m.Metadata {
		if !strings.HasPrefix(e.Key, "mdm.") {
			out.Metadata = append(out.Metadata, e)
		}
	}
	out.Metadata = append(out.Metadata, ours...)
	return &out
}
