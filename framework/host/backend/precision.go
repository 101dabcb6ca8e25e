package backend

import (
	"fmt"
	"path/filepath"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// halves makes models of a precision where nobody has exported them.
var halves = map[string]func(*graph.Model) (*graph.Model, error){"fp16": precision.Half, "bf16": precision.BFloat16}

// precise is the model in the precision of runtime.precision: the file of that name beside the model's own, such as onnx/model_fp16.onnx, or one
// made from the model's own in memory. A graph takes the place of the model's file; it is always converted.
func precise(m *model.Model, name string, text []byte) (onnx.Model, error) {
	source := Source(m)
	if text != nil {
		source.Data = text
	}
	half := halves[name]
	if half == nil {
		return source, nil
	}
	if text == nil {
		file, data, err := m.Variant(name)
		if err != nil {
			return source, err
		}
		if data != nil {
			source.Data = data
			if m.Dir != "" {
				source.Dir = filepath.Join(m.Dir, filepath.Dir(filepath.FromSlash(file)))
			}
			return source, nil
		}
	}
	decoded, err := whole(m, source.Data, text == nil)
	if err == nil {
		decoded, err = half(decoded)
	}
	if err != nil {
		return source, fmt.Errorf("runtime.precision: %s of model %s cannot be made: %w; or export one as %s", name, m.Name, err, filepath.Join("onnx", "model_"+name+".onnx"))
	}
	source.Data = decoded.Encode()
	return source, nil
}

// whole is a graph with all its weights, those in files beside the model's own, too.
func whole(m *model.Model, text []byte, own bool) (*graph.Model, error) {
	if own && m.Dir != "" && len(m.Graph.External()) > 0 {
		return graph.Open(filepath.Join(m.Dir, filepath.FromSlash(m.ONNXName)))
	}
	return graph.Decode(text)
}
