package network

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Place is where a safetensors file holds a tensor.
type Place struct {
	DType          safetensors.DType // F32, F16 or BF16
	Shape          []int64
	Offset, Length int64 // bytes from the start of the file
}

// Layout is where a safetensors file holds its tensors, by name.
type Layout map[string]Place

// LayoutOf is the layout of the file that [safetensors.Encode] writes of these tensors and metadata. It reads no elements. Errors are those of Encode.
func LayoutOf(tensors []safetensors.Tensor, metadata map[string]string) (Layout, error) {
	at, err := safetensors.HeaderSize(tensors, metadata)
	if err != nil {
		return nil, err
	}
	out := Layout{}
	for _, t := range tensors {
		n := int64(len(t.Data))
		out[t.Name] = Place{t.DType, t.Shape, at, n}
		at += n
	}
	return out, nil
}

// onnxTypes are the element types that a network's parameters may have in a file.
var onnxTypes = map[safetensors.DType]graph.Type{safetensors.F32: graph.Float32, safetensors.F16: graph.Float16, safetensors.BF16: graph.BFloat16}

// ExportLinked is [Export] of a network whose parameters stay where they are: the initializers are parts of the safetensors file at location, relative
// to the folder of the ONNX file, in the types that the file has. Those that are not float32 are followed by a Cast, which ONNX Runtime does once, when
// it loads the model. So the weights lie on the disk once, no copy of them is made, and a model may be larger than the 2 GiB of an ONNX file.
// The layout may hold further tensors. o.Precision must be empty: the file decides. The error lists every parameter that is missing,
// misshapen or of another type.
func ExportLinked(c Config, l Layout, location string, o ExportOptions) (*graph.Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if o.Precision != "" {
		return nil, fmt.Errorf("export: precision is %q, and linked parameters have that of %s; leave it out", o.Precision, location)
	}
	if err := l.check(c, location); err != nil {
		return nil, err
	}
	return export(c, o, func(p Param) (*graph.Tensor, error) {
		at := l[p.Name]
		return &graph.Tensor{Name: p.Name, Type: onnxTypes[at.DType], Dims: p.Shape, External: []graph.Entry{{Key: "location", Value: location},
			{Key: "offset", Value: strconv.FormatInt(at.Offset, 10)}, {Key: "length", Value: strconv.FormatInt(at.Length, 10)}}}, nil
	})
}

// check holds a layout against a config.
func (l Layout) check(c Config, location string) error {
	var problems []error
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(location+": "+format, args...))
	}
	for _, p := range Params(c) {
		at, ok := l[p.Name]
		switch {
		case !ok:
			report("tensor %q is missing, expected shape %v", p.Name, p.Shape)
		case !slices.Equal(at.Shape, p.Shape):
			report("tensor %q has shape %v, expected %v", p.Name, at.Shape, p.Shape)
		case onnxTypes[at.DType] == graph.Undefined:
			report("tensor %q has elements %s, expected F32, F16 or BF16; convert it", p.Name, at.DType)
		case at.Offset < 0 || at.Length != p.Len()*at.DType.Size():
			report("tensor %q has bytes %d and %d following, expected %d for %s %v", p.Name, at.Offset, at.Length, p.Len()*at.DType.Size(), at.DType, p.Shape)
		}
	}
	return errors.Join(problems...)
}
