package graph

import (
	"slices"
	"strings"
)

// expansions are operators of ONNX Runtime's own that the framework writes, said with stock ones.
var expansions = map[string]body{
	Contrib + ".RotaryEmbedding": {inputs: []string{"x", "positions", "cos", "sin"}, outputs: []string{"y"}, write: expandRotary},
	"SimplifiedLayerNormalization": {inputs: []string{"x", "scale"}, outputs: []string{"y"}, attributes: []*Attribute{Float("epsilon", 1e-5), Int("axis", -1), Int("stash_type", 1)},
		write: func(b *Builder, in []Value) []Value {
			x, scale := in[0], in[1] // the very pattern that ONNX Runtime recognises and fuses
			square := b.ReduceMean(b.Op("Pow", nil, x, b.Float(2)), true, -1)
			return []Value{b.Mul(b.Div(x, b.Sqrt(b.Add(square, b.Op("Constant", []*Attribute{Ref("value_float", KindFloat, "epsilon")})))), scale)}
		}},
}

// expandRotary turns x [B, L, H dh] by positions: [B, L], or [1], where the row's first one is. cos and sin are [M, dh/2].
func expandRotary(b *Builder, in []Value) []Value {
	x, positions, cos, sin := in[0], in[1], in[2], in[3]
	size := func(v Value, i int64) Value { // [1] of dimension i
		return b.Op("Shape", []*Attribute{Int("start", i), Int("end", i+1)}, v)
	}
	// Where positions has one element, the others of the row follow it; else nothing is added.
	one := b.Cast(b.Op("Equal", nil, b.Op("Size", nil, positions), b.Int(1)), Int64)
	at := b.Add(positions, b.Mul(b.Range(b.Op("Squeeze", nil, size(x, 1))), one))       // [L] or [B, L]
	angle := func(table Value) Value { return b.Unsqueeze(b.Gather(table, at, 0), -2) } // [..., L, 1, dh/2]
	c, s := angle(cos), angle(sin)
	width := b.Mul(size(cos, 1), b.Ints(2))
	y := b.ReshapeTo(x, b.Concat(0, b.Ints(0, 0, -1), width)) // [B, L, H, dh]
	split := []*Attribute{Int("axis", -1)}
	if b.opset >= 18 {
		split = append(split, Int("num_outputs", 2))
	}
	half := b.OpN("Split", 2, split, y)
	turned := b.Concat(-1, b.Sub(b.Mul(half[0], c), b.Mul(half[1], s)), b.Add(b.Mul(half[1], c), b.Mul(half[0], s)))
	return []Value{b.ReshapeTo(turned, b.Op("Shape", nil, x))}
}

// Portable returns the model so that stacks other than ONNX Runtime can read it: operators of ONNX Runtime's own that the framework
// writes are functions of the model under their own names, whose place ONNX Runtime's kernels take, or, where they have no domain of their own, are
// written out. Others' operators stay as they are; [Foreign] lists what is left. The model itself stays as it is.
func Portable(m *Model) (*Model, error) {
	out := *m
	out.Functions = slices.Clone(m.Functions)
	have := map[string]bool{}
	for _, f := range m.Functions {
		have[functionKey(f.Domain, f.Name, f.Overload)] = true
	}
	var failed error
	define := func(n *Node) {
		key := Key(n)
		e, ok := expansions[key]
		if !ok || have[key] || n.Overload != "" || failed != nil || m.Opset("") < MinOpset || m.Opset("") > MaxOpset {
			return
		}
		for _, a := range n.Attributes { // another operation under the same name
			if a.Name != "epsilon" && !(a.Kind == KindInt && (a.I == 0 || a.Name == "axis" && a.I == -1 || a.Name == "stash_type" && a.I == 1)) {
				return
			}
		}
		f, err := e.function(key, m.Opset(""))
		if err != nil {
			failed = err
			return
		}
		have[key], out.Functions = true, append(out.Functions, f)
	}
	for _, n := range m.Graph.Nodes {
		define(n)
	}
	if failed != nil {
		return nil, failed
	}
	if len(out.Functions) > 0 {
		out.IRVersion = max(out.IRVersion, 8) // the first with functions
	}
	return Inline(&out, func(f *Function) bool { return f.Domain == "" })
}

// Foreign lists the operators outside ONNX's own that the model calls and does not define, sorted, each once.
func Foreign(m *Model) []string {
	defined, found := map[string]bool{}, map[string]bool{}
	for _, f := range m.Functions {
		defined[functionKey(f.Domain, f.Name, f.Overload)] = true
	}
	note := func(n *Node) {
		key := Key(n)
		_, own := expansions[key] // SimplifiedLayerNormalization has ONNX's domain and is none of ONNX's
		if (own || strings.Contains(key, ".")) && !defined[functionKey(n.Domain, n.Op, n.Overload)] {
			found[key] = true
		}
	}
	eachNode(m.Graph.Nodes, note)
	for _, f := range m.Functions {
		eachNode(f.Nodes, note)
	}
	var out []string
	for key := range found {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
