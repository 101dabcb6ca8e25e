package network

import (
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Signature is what the network takes and gives: input_ids [B, L], attention_mask [B, L] (1 = real; left out: all real),
// position_ids [B, L] (left out: 0, 1, ...; not for positions "none"), attention_bias [B, 1, L, L] (added to the scores of
// every head, from which softmax makes the attention that a position pays to the others; left out: none; not with logits_shift), for time "adaln" timesteps [B] in [0, 1] and, with
// masked_input, masked [B, L] (1 where the token stands for a mask), to logits [B, L, V], with gaps to insertion_rate [B, L+1], too,
// and with unmask_rate to unmask_rate [B, L]; for head "keep" to keep [B, L], for head "order" to order [B, L, 2].
func Signature(c Config) graph.Signature {
	ids := graph.Dims("B", "L")
	s := graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: ids}, {Name: "attention_mask", Type: graph.Int64, Shape: ids}},
		Outputs: c.outputs(),
	}
	if c.placed() {
		s.Inputs = append(s.Inputs, graph.Port{Name: "position_ids", Type: graph.Int64, Shape: ids})
	}
	s.Inputs = append(s.Inputs, graph.Port{Name: "attention_bias", Type: graph.Float32, Shape: graph.Dims("B", 1, "L", "L")})
	if c.Timed() {
		s.Inputs = append(s.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("B")})
	}
	if c.MaskedInput {
		s.Inputs = append(s.Inputs, graph.Port{Name: "masked", Type: graph.Int64, Shape: ids})
	}
	return s
}

// Build writes the network into a graph: float32 params under the names of [Params], and inputs and outputs under the names
// of [Signature]. B and L may be numbers or names. Mistakes are the builder's.
//
// Activations are matrices [B L, d]; heads exist around attention only. A row whose attention_mask is all zero attends
// everywhere, so that its logits are finite.
func Build(b *graph.Builder, c Config, params, inputs map[string]graph.Value) map[string]graph.Value {
	n := &builder{Builder: b, c: c, params: params}
	if !n.take(inputs) {
		return map[string]graph.Value{}
	}
	x := n.embed()
	n.condition()
	for i := range c.Layers {
		x = n.layer(i, x)
	}
	return n.heads(x)
}

// builder is one network on its way into a graph.
type builder struct {
	*graph.Builder
	c      Config
	params map[string]graph.Value

	ids, positions, time, masked graph.Value
	mask                         graph.Value // attention_mask, or none
	sizes                        graph.Value // [2] B and L
	bias                         graph.Value // [B, 1, 1, L] 0 for real positions, very negative for padding, or with attention_bias [B, 1, L, L]; or none
	window                       graph.Value // bias with the window of local layers; or none
	biased                       bool        // attention_bias is given
	cond                         graph.Value // [B, n] the time's embedding; or none
}

// take holds the inputs and the parameters against the config.
func (n *builder) take(inputs map[string]graph.Value) bool {
	fail := func(format string, args ...any) bool {
		n.Fail(format, args...)
		return false
	}
	ports := map[string]graph.Port{}
	for _, p := range Signature(n.c).Inputs {
		ports[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		p, ok := ports[name]
		v := inputs[name]
		switch {
		case !ok:
			return fail("network: no input %q; it takes %s", name, strings.Join(slices.Sorted(maps.Keys(ports)), ", "))
		case v.Given() && (v.Type() != p.Type || v.Rank() != len(p.Shape)):
			return fail("network: input %s is %s; expected %s with %d dimensions", name, v, p.Type, len(p.Shape))
		}
	}
	for _, p := range Params(n.c) {
		v, ok := n.params[p.Name]
		if !ok {
			return fail("network: parameter %q is missing; give those of network.Params", p.Name)
		}
		if !graph.SameShape(v.Shape(), dims(p.Shape)) || v.Type() != graph.Float32 {
			return fail("network: parameter %s is %s; expected float32 %v", p.Name, v, p.Shape)
		}
	}
	n.ids, n.positions, n.time = inputs["input_ids"], inputs["position_ids"], inputs["timesteps"]
	if !n.ids.Given() {
		return fail("network: input_ids is missing; give int64 [B, L]")
	}
	if n.c.Timed() && !n.time.Given() {
		return fail("network: timesteps is missing; give float32 [B]")
	}
	if n.masked = inputs["masked"]; n.c.MaskedInput && !n.masked.Given() {
		return fail("network: masked is missing; give int64 [B, L]")
	}
	if length := n.ids.Dim(1); n.c.placed() && length.Size > int64(n.c.MaxPositions) {
		return fail("network: rows have %d positions; expected at most max_position_embeddings %d", length.Size, n.c.MaxPositions)
	}
	n.sizes = n.Shape(n.ids)
	if n.mask = inputs["attention_mask"]; n.mask.Given() {
		bias := n.Mul(n.Sub(n.Cast(n.mask, graph.Float32), n.Float(1)), n.Float(-unseen))
		n.bias = n.Unsqueeze(bias, 1, 2)
	}
	if bias := inputs["attention_bias"]; bias.Given() {
		if n.c.LogitsShift {
			return fail("network: attention_bias is given, and with logits_shift a position is told by the one before, which sees it; leave it out")
		}
		if n.biased = true; n.bias.Given() {
			bias = n.Add(bias, n.bias)
		}
		n.bias = bias
	}
	n.window = n.within()
	return true
}

func dims(shape []int64) []graph.Dim {
	out := make([]graph.Dim, len(shape))
	for i, d := range shape {
		out[i] = graph.Known(d)
	}
	return out
}

// parameter finds a parameter; those that the config goes without are left out.
func (n *builder) parameter(name string) graph.Value { return n.params[name] }

// linear is x W^T + b for x [T, in]. The bias is an Add of its own: the runtime does that faster than Gemm's third operand.
func (n *builder) linear(name string, x graph.Value) graph.Value {
	y := n.Gemm(x, n.parameter(name+".weight"), graph.Value{}, false, true)
	if bias := n.parameter(name + ".bias"); bias.Given() {
		y = n.Add(y, bias)
	}
	return y
}

// norm normalises x [T, d]; without parameters of that name it only normalises.
func (n *builder) norm(name string, x graph.Value) graph.Value {
	scale := n.parameter(name + ".weight")
	if !scale.Given() {
		scale = n.Floats([]int64{int64(n.c.HiddenSize)}, slices.Repeat([]float32{1}, n.c.HiddenSize))
	}
	if n.c.Norm == NormRMS {
		return n.RMSNormalization(x, scale, float32(n.c.NormEps))
	}
	return n.LayerNormalization(x, scale, n.parameter(name+".bias"), float32(n.c.NormEps))
}

// rows views x [T, ...] as [B, L, shape...].
func (n *builder) rows(x graph.Value, shape ...int64) graph.Value {
	batch, length := n.ids.Dim(0), n.ids.Dim(1)
	if batch.IsKnown() || length.IsKnown() {
		return n.Reshape(x, append([]graph.Dim{batch, length}, dims(shape)...)...)
	}
	if len(shape) == 0 {
		return n.ReshapeTo(x, n.sizes)
	}
	return n.ReshapeTo(x, n.Concat(0, n.sizes, n.Ints(shape...)))
}

// flat views x [B, L, ...] as [T, width].
func (n *builder) flat(x graph.Value, width int) graph.Value {
	t := n.ids.Dim(0).Times(n.ids.Dim(1))
	return n.Reshape(x, t, graph.Known(int64(width)))
}
