package graph

import (
	"fmt"
	"math"
)

// Decode reads an encoded model. Tensor payloads of the result are slices of b, so b must not change while the model is in
// use. A graph (or any other embedded message) that occurs more than once is merged, as protobuf demands. Damaged input is
// an error that names the place; hostile input costs memory in proportion to its size at most.
func Decode(b []byte) (*Model, error) {
	m := &Model{}
	if err := (&decoder{}).model(b, m); err != nil {
		return nil, fmt.Errorf("ONNX model: %w; the file is damaged or not an ONNX model", err)
	}
	return m, nil
}

func (d *decoder) model(b []byte, m *Model) error {
	return d.message(b, &m.Unknown, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.int(&m.IRVersion)
		case 2:
			return f.text(&m.Producer)
		case 5:
			return f.int(&m.ModelVersion)
		case 6:
			return f.text(&m.Doc)
		case 7:
			if m.Graph == nil {
				m.Graph = &Graph{}
			}
			return f.sub("graph", func(b []byte) error { return d.graph(b, m.Graph) })
		case 8:
			return f.sub("opset_import", func(b []byte) error { return d.opset(b, &m.Opsets) })
		case 14:
			return f.sub("metadata_props", func(b []byte) error { return d.entry(b, &m.Metadata) })
		case 25:
			m.Functions = append(m.Functions, &Function{})
			fn := m.Functions[len(m.Functions)-1]
			return f.sub(fmt.Sprintf("function %d", len(m.Functions)-1), func(b []byte) error { return d.function(b, fn) })
		}
		return false, nil
	})
}

func (d *decoder) opset(b []byte, to *[]Opset) error {
	var o Opset
	err := d.message(b, nil, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.text(&o.Domain)
		case 2:
			return f.int(&o.Version)
		}
		return false, nil
	})
	*to = append(*to, o)
	return err
}

func (d *decoder) entry(b []byte, to *[]Entry) error {
	var e Entry
	err := d.message(b, nil, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.text(&e.Key)
		case 2:
			return f.text(&e.Value)
		}
		return false, nil
	})
	*to = append(*to, e)
	return err
}

func (d *decoder) graph(b []byte, g *Graph) error {
	value := func(f field, name string, to *[]*ValueInfo) (bool, error) {
		v := &ValueInfo{}
		*to = append(*to, v)
		return f.sub(fmt.Sprintf("%s %d", name, len(*to)-1), func(b []byte) error { return d.valueInfo(b, v) })
	}
	return d.message(b, &g.Unknown, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return d.node(f, &g.Nodes)
		case 2:
			return f.text(&g.Name)
		case 5:
			return d.tensors(f, "initializer", &g.Initializers)
		case 10:
			return f.text(&g.Doc)
		case 11:
			return value(f, "input", &g.Inputs)
		case 12:
			return value(f, "output", &g.Outputs)
		case 13:
			return value(f, "value_info", &g.Values)
		}
		return false, nil
	})
}

func (d *decoder) node(f field, to *[]*Node) (bool, error) {
	n := &Node{}
	*to = append(*to, n)
	return f.sub(fmt.Sprintf("node %d", len(*to)-1), func(b []byte) error {
		return d.message(b, &n.Unknown, func(f field) (bool, error) {
			switch f.num {
			case 1:
				return f.texts(&n.Inputs)
			case 2:
				return f.texts(&n.Outputs)
			case 3:
				return f.text(&n.Name)
			case 4:
				return f.text(&n.Op)
			case 5:
				return d.attribute(f, &n.Attributes)
			case 7:
				return f.text(&n.Domain)
			case 8:
				return f.text(&n.Overload)
			}
			return false, nil
		})
	})
}

func (d *decoder) function(b []byte, fn *Function) error {
	return d.message(b, &fn.Unknown, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.text(&fn.Name)
		case 4:
			return f.texts(&fn.Inputs)
		case 5:
			return f.texts(&fn.Outputs)
		case 6:
			return f.texts(&fn.Attributes)
		case 7:
			return d.node(f, &fn.Nodes)
		case 9:
			return f.sub("opset_import", func(b []byte) error { return d.opset(b, &fn.Opsets) })
		case 10:
			return f.text(&fn.Domain)
		case 11:
			return d.attribute(f, &fn.Defaults)
		case 13:
			return f.text(&fn.Overload)
		}
		return false, nil
	})
}

func (d *decoder) attribute(f field, to *[]*Attribute) (bool, error) {
	a := &Attribute{}
	*to = append(*to, a)
	return f.sub(fmt.Sprintf("attribute %d", len(*to)-1), func(b []byte) error {
		return d.message(b, &a.Unknown, func(f field) (bool, error) { return d.attributeField(f, a) })
	})
}

func (d *decoder) attributeField(f field, a *Attribute) (bool, error) {
	var v int64
	switch f.num {
	case 1:
		return f.text(&a.Name)
	case 2:
		a.F = math.Float32frombits(uint32(f.u))
		return true, nil
	case 3:
		return f.int(&a.I)
	case 4:
		return f.bytes(&a.S)
	case 5:
		if a.T == nil {
			a.T = &Tensor{}
		}
		return f.sub("tensor", func(b []byte) error { return d.tensor(b, a.T) })
	case 6:
		if a.G == nil {
			a.G = &Graph{}
		}
		return f.sub("graph", func(b []byte) error { return d.graph(b, a.G) })
	case 7:
		return f.floats(&a.Floats)
	case 8:
		return f.ints(&a.Ints)
	case 9:
		a.Strings = append(a.Strings, f.b)
		return true, nil
	case 10:
		return d.tensors(f, "tensor", &a.Tensors)
	case 11:
		a.Graphs = append(a.Graphs, &Graph{})
		return f.sub("graph", func(b []byte) error { return d.graph(b, a.Graphs[len(a.Graphs)-1]) })
	case 20:
		ok, err := f.int(&v)
		a.Kind = Kind(v)
		return ok, err
	case 21:
		return f.text(&a.Ref)
	}
	return false, nil
}
