package exporters

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// parameters finds the network in a model. The error says why there is none that could be written in another language.
func parameters(m *model.Model) (network.Config, network.Values, error) {
	find := recovered
	if m.Config.ModelType == network.ModelType {
		find = network.Exported
	}
	c, values, err := find(m)
	if err != nil {
		return c, nil, fmt.Errorf("%w; the file itself can be taken elsewhere as it is: --to onnx", err)
	}
	return c, values, nil
}

// recovered finds the network in a model whose ONNX file others exported, by the rules of its family: [network.Export] of what it returns gives
// the file's logits. Tied matrices, merged constants and matrices that stand as [in, out] are told by how the file uses them.
func recovered(m *model.Model) (network.Config, network.Values, error) {
	name := filepath.Join(m.Name, "config.json")
	text, err := m.ReadFile("config.json")
	if err != nil {
		return network.Config{}, nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	r, err := family.Parse(name, text)
	if err != nil {
		return network.Config{}, nil, err
	}
	n, _, err := foreign.Read(m.Graph, foreign.Options{Name: m.Name, Dir: filepath.Dir(filepath.Join(m.Dir, filepath.FromSlash(m.ONNXName))), Positions: m.Config.MaxPositions})
	if err != nil {
		return network.Config{}, nil, err
	}
	values, err := assembled(r, n)
	if err != nil {
		return network.Config{}, nil, fmt.Errorf("%s: as a network of type %s: %w", filepath.Join(m.Name, m.ONNXName), r.ModelType, err)
	}
	return r.Config, values, nil
}

// assembled are the parameters of the network by our names, those that the file has as [in, out] turned.
func assembled(r *family.Recipe, n *foreign.Network) (network.Values, error) {
	columns, values := n.Columns(), n.Values()
	var tensors []safetensors.Tensor
	for i, p := range n.Parameters() {
		shape, v := slices.Clone(p.Shape), values[i]
		if columns[i] {
			v = transposed(v, int(shape[0]), int(shape[1]))
			shape[0], shape[1] = shape[1], shape[0]
		}
		tensors = append(tensors, safetensors.Of(p.Name, shape, v))
	}
	parameters, err := r.Assemble(tensors)
	if err != nil {
		return nil, err
	}
	out := network.Values{}
	for _, t := range parameters {
		if out[t.Name], err = safetensors.View[float32](t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func transposed(v []float32, rows, columns int) []float32 {
	out := make([]float32, len(v))
	for r := range rows {
		for c := range columns {
			out[c*rows+r] = v[r*columns+c]
		}
	}
	return out
}
