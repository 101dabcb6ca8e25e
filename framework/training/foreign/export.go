package foreign

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Export is the file with trained values in it: inputs, outputs, opset and metadata are those of the file, tied matrices are
// equal, and parameters that had been merged stay apart. values are in the order of [Network.Parameters]; the
// result does not share memory with them.
func (n *Network) Export(values [][]float32) (*graph.Model, error) {
	if len(values) != len(n.params) {
		return nil, fmt.Errorf("model %s: %d tensors are given; expected %d, one for each parameter", n.name, len(values), len(n.params))
	}
	trained := map[string]*graph.Tensor{}
	for i, p := range n.params {
		if int64(len(values[i])) != p.Size() {
			return nil, fmt.Errorf("model %s: parameter %s: %d numbers are given; expected %d for its shape %v", n.name, p.Name, len(values[i]), p.Size(), p.Shape)
		}
		for _, at := range p.places {
			t := *at.tensor
			t.Floats, t.Raw = nil, raw(values[i], p.Shape, at.transposed)
			trained[t.Name] = &t
		}
	}
	m, g := *n.model, *n.model.Graph
	m.Graph = &g
	g.Initializers = slices.Clone(g.Initializers)
	size := 0
	for i, t := range g.Initializers {
		if own, ok := trained[t.Name]; ok {
			g.Initializers[i] = own
		}
		size += len(g.Initializers[i].Raw)
	}
	if size > math.MaxInt32-1<<20 {
		return nil, fmt.Errorf("model %s: its weights take %d bytes; expected less than 2 GiB, which is all that an ONNX file can hold", n.name, size)
	}
	return &m, nil
}

// raw encodes the elements, those of a matrix by columns if it is to be transposed.
func raw(v []float32, shape []int64, transposed bool) []byte {
	out := make([]byte, 0, 4*len(v))
	if !transposed {
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		return out
	}
	rows, columns := int(shape[0]), int(shape[1])
	for j := range columns {
		for i := range rows {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v[i*columns+j]))
		}
	}
	return out
}
