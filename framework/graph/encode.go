package graph

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encode writes the model. The bytes of a model followed by those of a fragment (a model with new nodes, initializers,
// outputs, opsets or functions only) are again a valid model, the fragment appended, because protobuf merges a repeated
// embedded message: that is how a graph grows without its weights being written again.
func (m *Model) Encode() []byte {
	b := number(nil, 1, m.IRVersion)
	b = text(b, 2, m.Producer)
	b = number(b, 5, m.ModelVersion)
	b = text(b, 6, m.Doc)
	if m.Graph != nil {
		b = message(b, 7, m.Graph.append(nil))
	}
	for _, o := range m.Opsets {
		b = message(b, 8, o.append(nil))
	}
	for _, e := range m.Metadata {
		b = message(b, 14, e.append(nil))
	}
	for _, f := range m.Functions {
		b = message(b, 25, f.append(nil))
	}
	return append(b, m.Unknown...)
}

func (o Opset) append(b []byte) []byte {
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), o.Domain)
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(o.Version))
}

func (e Entry) append(b []byte) []byte { return text(text(b, 1, e.Key), 2, e.Value) }

func (g *Graph) append(b []byte) []byte {
	for _, n := range g.Nodes {
		b = message(b, 1, n.append(nil))
	}
	b = text(b, 2, g.Name)
	for _, t := range g.Initializers {
		b = message(b, 5, t.append(nil))
	}
	b = text(b, 10, g.Doc)
	for i, list := range [][]*ValueInfo{g.Inputs, g.Outputs, g.Values} {
		for _, v := range list {
			b = message(b, protowire.Number(11+i), v.append(nil))
		}
	}
	return append(b, g.Unknown...)
}

func (n *Node) append(b []byte) []byte {
	b = texts(b, 1, n.Inputs)
	b = texts(b, 2, n.Outputs)
	b = text(b, 3, n.Name)
	b = text(b, 4, n.Op)
	for _, a := range n.Attributes {
		b = message(b, 5, a.append(nil))
	}
	b = text(b, 7, n.Domain)
	b = text(b, 8, n.Overload)
	return append(b, n.Unknown...)
}

func (f *Function) append(b []byte) []byte {
	b = text(b, 1, f.Name)
	b = texts(b, 4, f.Inputs)
	b = texts(b, 5, f.Outputs)
	b = texts(b, 6, f.Attributes)
	for _, n := range f.Nodes {
		b = message(b, 7, n.append(nil))
	}
	for _, o := range f.Opsets {
		b = message(b, 9, o.append(nil))
	}
	b = text(b, 10, f.Domain)
	for _, a := range f.Defaults {
		b = message(b, 11, a.append(nil))
	}
	b = text(b, 13, f.Overload)
	return append(b, f.Unknown...)
}

func (a *Attribute) append(b []byte) []byte {
	b = text(b, 1, a.Name)
	if a.Kind == KindFloat && a.Ref == "" || a.F != 0 {
		b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), math.Float32bits(a.F))
	}
	if a.Kind == KindInt && a.Ref == "" || a.I != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(a.I))
	}
	if a.Kind == KindString && a.Ref == "" || len(a.S) > 0 {
		b = message(b, 4, a.S)
	}
	if a.T != nil {
		b = message(b, 5, a.T.append(nil))
	}
	if a.G != nil {
		b = message(b, 6, a.G.append(nil))
	}
	for _, v := range a.Floats {
		b = protowire.AppendFixed32(protowire.AppendTag(b, 7, protowire.Fixed32Type), math.Float32bits(v))
	}
	for _, v := range a.Ints {
		b = protowire.AppendVarint(protowire.AppendTag(b, 8, protowire.VarintType), uint64(v))
	}
	for _, v := range a.Strings {
		b = message(b, 9, v)
	}
	for _, t := range a.Tensors {
		b = message(b, 10, t.append(nil))
	}
	for _, g := range a.Graphs {
		b = message(b, 11, g.append(nil))
	}
	b = number(b, 20, int64(a.Kind))
	b = text(b, 21, a.Ref)
	return append(b, a.Unknown...)
}

func (t *Tensor) append(b []byte) []byte {
	if len(t.Dims) > 0 {
		var dims []byte
		for _, d := range t.Dims {
			dims = protowire.AppendVarint(dims, uint64(d))
		}
		b = message(b, 1, dims)
	}
	b = number(b, 2, int64(t.Type))
	b = payload(b, 4, t.Floats)
	b = payload(b, 5, t.Int32s)
	for _, s := range t.Strings {
		b = message(b, 6, s)
	}
	b = payload(b, 7, t.Int64s)
	b = text(b, 8, t.Name)
	b = payload(b, 9, t.Raw)
	b = payload(b, 10, t.Doubles)
	b = payload(b, 11, t.Uint64s)
	for _, e := range t.External {
		b = message(b, 13, e.append(nil))
	}
	if t.IsExternal() {
		b = number(b, 14, 1)
	}
	return append(b, t.Unknown...)
}

func (v *ValueInfo) append(b []byte) []byte {
	b = text(b, 1, v.Name)
	typ := v.Other
	if v.Type != Undefined {
		tensor := number(nil, 1, int64(v.Type))
		if v.HasRank {
			var shape []byte
			for _, d := range v.Shape {
				var dim []byte
				if d.Size >= 0 {
					dim = protowire.AppendVarint(protowire.AppendTag(dim, 1, protowire.VarintType), uint64(d.Size))
				}
				shape = message(shape, 1, text(dim, 2, d.Name))
			}
			tensor = message(tensor, 2, shape)
		}
		typ = message(nil, 1, tensor)
	}
	if typ != nil {
		b = message(b, 2, typ)
	}
	return append(b, v.Unknown...)
}

func number(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

func text(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

// texts writes every element, the empty ones too: they mark optional inputs that are left out.
func texts(b []byte, num protowire.Number, list []string) []byte {
	for _, s := range list {
		b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	return b
}

func message(b []byte, num protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), m)
}

func payload(b []byte, num protowire.Number, p []byte) []byte {
	if p == nil {
		return b
	}
	return message(b, num, p)
}
