package precision

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Half returns the model with weights and arithmetic in float16, by the rules that mixed precision goes by elsewhere: products run in
// float16; norms, softmax, reductions, powers and exponentials in float32; what lies between runs in the widest type of what it reads, where
// constants take whichever type the others have. What logits do not need (rates), inputs and outputs are float32. It is for GPUs: ONNX Runtime's CPU provider
// has few kernels for float16 and casts around the others.
//
// The error names a weight beyond float16, or an operator that this package's graphs cannot say.
func Half(m *graph.Model) (*graph.Model, error) { return halved(m, graph.Float16) }

// BFloat16 is [Half] with bfloat16, whose exponent is float32's: no weight is beyond it, and 8 bits of each are left. ONNX Runtime's CPU provider
// has no kernels for it, and that of CUDA those of products, sums, differences, quotients and what moves numbers: the rest runs in float32.
func BFloat16(m *graph.Model) (*graph.Model, error) { return halved(m, graph.BFloat16) }

func halved(m *graph.Model, typ graph.Type) (*graph.Model, error) {
	if err := whole(m); err != nil {
		return nil, err
	}
	m = Residuals(m)
	b := graph.NewBuilder(m.Graph.Name, m.Opset(""))
	h := &halver{b: b, typ: typ, follows: followers[typ], matters: needed(m.Graph), narrow: map[string]graph.Value{}, wide: map[string]graph.Value{}}
	bind := map[string]graph.Value{}
	for _, v := range m.Graph.Feeds() {
		bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
	}
	values := b.Replay(m, bind, h.node)
	if h.err != nil {
		return nil, fmt.Errorf("graph %s: %w", m.Graph.Name, h.err)
	}
	var outputs []graph.Output
	for _, o := range m.Graph.Outputs {
		v := values[o.Name]
		if o.Type == graph.Float32 {
			v = h.single(v)
		}
		outputs = append(outputs, graph.Output{Name: o.Name, Value: v})
	}
	if b.Err() == nil && h.products == 0 {
		return nil, fmt.Errorf("graph %s: has no product to do in %s; expected MatMul or Gemm of float32, take precision fp32", m.Graph.Name, typ)
	}
	out, err := b.Model(outputs...)
	if err != nil {
		return nil, err
	}
	out.Metadata, out.Doc, out.ModelVersion = m.Metadata, m.Doc, m.ModelVersion
	return out, nil
}

// halver writes nodes in their precision.
type halver struct {
	b            *graph.Builder
	typ          graph.Type      // Float16 or BFloat16
	follows      map[string]bool // operators that run in the type of what they read
	matters      map[*graph.Node]bool
	narrow, wide map[string]graph.Value // casts by the value that is cast
	products     int
	err          error // the first weight that does not fit
}

// node writes n with the casts that it needs; nil leaves it as it is.
func (h *halver) node(n *graph.Node, in []graph.Value) []graph.Value {
	if h.b.Err() != nil || h.err != nil {
		return nil
	}
	switch key := graph.Key(n); {
	case key == "Cast" && in[0].Type() == h.typ && n.IntAttr("to", 0) == int64(graph.Float32), key == "Identity":
		return in // which is cast where somebody wants it wide
	case anyType[key] || !slices.ContainsFunc(in, h.isFloat):
		return nil
	case products[key] && h.matters[n]:
		h.products++
		return h.write(n, in, h.half)
	case h.follows[key] && h.matters[n] && h.follow(key, in):
		if key == "mdm.Silu" { // whose kernel in this program is for float32
			return []graph.Value{h.b.Mul(in[0], h.b.Sigmoid(in[0]))}
		}
		return h.write(n, in, h.half)
	case !slices.ContainsFunc(in, func(v graph.Value) bool { return v.Type() == h.typ }):
		return nil
	}
	return h.write(n, in, h.single)
}

func (h *halver) write(n *graph.Node, in []graph.Value, cast func(graph.Value) graph.Value) []graph.Value {
	given := slices.Clone(in)
	for i, v := range in {
		if h.isFloat(v) {
			given[i] = cast(v)
		}
	}
	if h.b.Err() != nil || h.err != nil {
		return nil
	}
	return h.b.OpN(graph.Key(n), len(n.Outputs), n.Attributes, given...)
}

// follow tells whether an operator between products runs in the narrow type: its values do, and its constants fit.
func (h *halver) follow(key string, in []graph.Value) bool {
	some := false
	for _, v := range in {
		switch {
		case !h.isFloat(v):
		case v.Type() == h.typ:
			some = true
		case v.Content() == nil || !fits(v.Content(), h.typ):
			return false
		case (key == "Gather" || key == "Transpose") && v.Rank() > 1: // a table, a matrix
			some = true
		}
	}
	return some
}

func (h *halver) isFloat(v graph.Value) bool { return v.Type() == graph.Float32 || v.Type() == h.typ }

// single is v in float32.
func (h *halver) single(v graph.Value) graph.Value {
	if v.Type() != h.typ {
		return v
	}
	return cached(h.wide, v, func() graph.Value { return h.b.Cast(v, graph.Float32) })
}

// half is v in the narrow type; constants are stored so.
func (h *halver) half(v graph.Value) graph.Value {
	if v.Type() != graph.Float32 {
		return v
	}
	return cached(h.narrow, v, func() graph.Value {
		t := v.Content()
		if t == nil {
			return h.b.Cast(v, h.typ)
		}
		stored, err := toHalf(t, h.typ)
		if err != nil && h.err == nil {
			h.err = err
		}
		if err != nil {
			return v
		}
		return h.b.Constant(stored)
	})
}

func cached(of map[string]graph.Value, v graph.Value, cast func() graph.Value) graph.Value {
	if _, ok := of[v.Name()]; !ok {
		of[v.Name()] = cast()
	}
	return of[v.Name()]
}
