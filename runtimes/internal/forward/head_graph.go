package forward

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// body writes the nodes of a function, one method call an operator, each returning the name of its output.
type body struct {
	nodes []*graph.Node
	opset int64
}

func (b *body) attr(op string, attributes []*graph.Attribute, in ...string) string {
	out := fmt.Sprintf("%s_%d", op, len(b.nodes))
	b.nodes = append(b.nodes, &graph.Node{Name: out, Op: op, Inputs: in, Outputs: []string{out}, Attributes: attributes})
	return out
}

func (b *body) op(op string, in ...string) string { return b.attr(op, nil, in...) }

func (b *body) cast(x string, to graph.Type) string {
	return b.attr("Cast", []*graph.Attribute{graph.Int("to", int64(to))}, x)
}

func (b *body) constant(t *graph.Tensor) string {
	return b.attr("Constant", []*graph.Attribute{graph.TensorValue("value", t)})
}

func (b *body) float(v float64) string {
	return b.constant(graph.OfFloats("", nil, []float32{float32(v)}))
}

func (b *body) double(v float64) string {
	return b.constant(&graph.Tensor{Type: graph.Float64, Raw: binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))})
}

func (b *body) ints(v ...int64) string {
	return b.constant(graph.OfInts("", []int64{int64(len(v))}, v))
}

// reduce reduces the last axis of [B, L, V] and keeps it.
func (b *body) reduce(op, x string) string {
	if op != "ReduceSum" && b.opset < 18 {
		return b.attr(op, []*graph.Attribute{graph.Ints("axes", 2)}, x)
	}
	return b.op(op, x, b.ints(2))
}

// sum adds the last axis up, in the type of x.
func (b *body) sum(x string) string { return b.reduce("ReduceSum", x) }

// log1p is ln(1 + x), float32 [B, L, 1] in and out, through float64.
func (b *body) log1p(x string) string {
	return b.cast(b.op("Log", b.op("Add", b.cast(x, graph.Float64), b.double(1))), graph.Float32)
}

// function writes the head with stock operators, for providers without a kernel of ours. Formulas: sampling.Compute. Its
// node gives it so many inputs, some of which may be left out.
func (h *head) function(opset int64, v, inputs int) *graph.Function {
	b := &body{opset: opset}
	n := &h.spec.Needs
	width, minus := b.float(float64(v)), b.float(math.Inf(-1))
	zero, one := b.float(0), b.float(1)
	iota := make([]float32, v) // token ids as float32, exact below 2^24
	forbidden := make([]byte, v)
	for i := range iota {
		iota[i] = float32(i)
	}
	for _, id := range h.spec.Suppress {
		if id >= 0 && int(id) < v {
			forbidden[id] = 1
		}
	}
	ids := b.constant(graph.OfFloats("", []int64{int64(v)}, iota))
	suppressed := b.constant(&graph.Tensor{Type: graph.Bool, Dims: []int64{int64(v)}, Raw: forbidden})

	z := b.edit(&h.spec.Edits, b.op("Where", suppressed, minus, "logits"), ids, suppressed, v)              // [B, L, V]
	sound := b.op("Equal", b.sum(b.op("Mul", b.op("Where", b.op("Equal", z, minus), zero, z), zero)), zero) // [B, L, 1] no NaN, no +Inf
	top := b.reduce("ReduceMax", z)                                                                         // [B, L, 1]
	none := b.op("Equal", top, minus)                                                                       // [B, L, 1]
	d := b.op("Sub", z, b.op("Where", none, zero, top))                                                     // [B, L, V] <= 0
	lowest := func(is string) string { return b.reduce("ReduceMin", b.op("Where", is, ids, width)) }        // the first id where is
	first := b.op("Min", lowest(b.op("Equal", z, top)), b.float(float64(v-1)))                              // [B, L, 1]
	isFirst := b.op("Equal", ids, first)                                                                    // [B, L, V]
	others := b.op("Where", isFirst, minus, d)                                                              // [B, L, V]
	rest := func(e string) string { return b.sum(b.op("Where", isFirst, zero, e)) }                         // [B, L, 1]
	entropy := func(e, d, lnZ, rest string) string {                                                        // [B, L, 1]
		live := b.op("And", b.op("Greater", e, zero), b.op("Not", isFirst))
		cross := b.sum(b.op("Where", live, b.op("Mul", e, b.op("Neg", d)), zero))
		return b.op("Add", lnZ, b.op("Div", cross, b.op("Add", rest, one)))
	}
	e := b.op("Exp", d)
	r := rest(e)
	lnZ := b.log1p(r) // relative to the largest logit
	p1 := b.op("Reciprocal", b.op("Add", r, one))

	param := func(i int64) string { // [B, 1, 1]
		return b.op("Unsqueeze", b.attr("Gather", []*graph.Attribute{graph.Int("axis", 1)}, "params", b.ints(i)), b.ints(2))
	}
	hot := b.op("Greater", param(0), zero) // [B, 1, 1]
	temperature := b.op("Where", hot, param(0), one)
	dt := b.op("Div", d, temperature)
	et := b.op("Exp", dt)
	lnT := b.log1p(rest(et))
	w := et
	if h.spec.Filter {
		w = b.filter(d, dt, et, temperature, param, v, h.spec.Below)
	}

	var drawn, noised string // [B, L, 1] float32; ln of the mass of the noised distribution relative to its largest
	if h.spec.Draw == sampling.DrawGumbel {
		noisy := b.op("Add", b.op("Div", b.cast(z, graph.Float64), b.cast(temperature, graph.Float64)), "gumbel")
		noisy = b.op("Where", b.op("Greater", w, zero), noisy, b.double(math.Inf(-1)))
		best := b.reduce("ReduceMax", noisy)
		drawn = lowest(b.op("Equal", noisy, best))
		if n.LogpProposal == sampling.OnNoised {
			noised = b.cast(b.op("Log", b.sum(b.op("Exp", b.op("Sub", noisy, best)))), graph.Float32)
		}
	} else {
		cdf := b.op("CumSum", b.cast(w, graph.Float64), b.constant(graph.OfInts("", nil, []int64{2})))
		all := b.op("Slice", cdf, b.ints(int64(v-1)), b.ints(int64(v)), b.ints(2))
		target := b.op("Mul", b.op("Unsqueeze", "uniform", b.ints(2)), all)
		drawn = b.sum(b.cast(b.op("Not", b.op("Greater", cdf, target)), graph.Float32)) // tokens whose sum does not exceed it
	}
	chosen := b.op("Min", b.op("Where", hot, drawn, first), b.float(float64(v-1)))
	index := b.cast(b.op("Where", sound, chosen, zero), graph.Int64) // [B, L, 1]
	faulty := func(x string, none1, unsound string) string {
		return b.op("Where", sound, b.op("Where", none, none1, x), unsound)
	}
	nan := b.float(math.NaN())
	good := b.op("And", sound, b.op("Not", none))

	var packed []string
	add := func(is bool, x func() string) {
		if is {
			packed = append(packed, x())
		}
	}
	first1, second1 := p1, ""
	if n.P2 {
		second1 = b.op("Mul", b.op("Exp", b.reduce("ReduceMax", others)), p1)
	}
	if on := n.Peaks(); on > sampling.OnModel {
		mass := w
		if on == sampling.OnTempered {
			mass = et
		}
		largest := b.op("Reciprocal", b.op("Add", rest(mass), one))
		if first1 = b.op("Where", hot, largest, p1); n.P2 {
			second1 = b.op("Where", hot, b.op("Mul", b.reduce("ReduceMax", b.op("Where", isFirst, zero, mass)), largest), second1)
		}
	}
	add(n.P1, func() string { return first1 })
	add(n.P2, func() string { return second1 })
	add(n.Entropy != sampling.NotNeeded, func() string {
		model := entropy(e, d, lnZ, r)
		if n.Entropy != sampling.OnSampling {
			return model
		}
		rw := rest(w)
		return b.op("Where", hot, entropy(w, dt, b.log1p(rw), rw), model)
	})
	add(n.LogpCurrent, func() string {
		token := b.op("Unsqueeze", "tokens", b.ints(2)) // [B, L, 1]
		inside, _ := b.held(suppressed, v)
		valid := b.op("And", b.op("Equal", token, inside), b.op("Not", b.op("Gather", suppressed, inside)))
		return b.op("Where", valid, b.op("Sub", b.at(d, inside), lnZ), zero)
	})
	add(n.LogpProposal != sampling.NotNeeded, func() string {
		model := b.op("Sub", b.at(d, index), lnZ)
		switch n.LogpProposal {
		case sampling.OnTempered:
			return b.op("Where", hot, b.op("Sub", b.at(dt, index), lnT), model)
		case sampling.OnSampling:
			return b.op("Where", hot, b.op("Sub", b.at(dt, index), b.log1p(rest(w))), model)
		case sampling.OnNoised:
			return b.op("Where", hot, b.op("Neg", noised), model)
		}
		return model
	})
	add(n.KLPrev, func() string {
		b.output("Sub", "now", nil, d, lnZ) // ln p
		change := b.op("Mul", b.op("Mul", e, p1), b.op("Sub", "now", "before"))
		return b.op("Max", b.sum(b.op("Where", b.op("Greater", e, zero), change, zero)), zero)
	})
	add(len(n.VocabDot) > 0, func() string { return b.op("MatMul", b.op("Mul", e, p1), b.op("Transpose", "dot")) })
	stats := b.op("Where", good, b.attr("Concat", []*graph.Attribute{graph.Int("axis", 2)}, packed...), nan) // [B, L, W]

	b.output("Transpose", "stats", []*graph.Attribute{graph.Ints("perm", 2, 0, 1)}, stats)
	proposal := faulty(chosen, b.float(float64(sampling.FaultSuppressed)), b.float(float64(sampling.FaultNaN)))
	b.output("Cast", "proposal", []*graph.Attribute{graph.Int("to", int64(graph.Int32))}, b.op("Squeeze", proposal, b.ints(2)))
	f := &graph.Function{Domain: "mdm", Name: "StatisticsHead", Outputs: []string{"stats", "proposal"}, Opsets: []graph.Opset{{Version: opset}},
		Inputs: []string{"logits", "tokens", "params", "uniform", "gumbel", "dot", "attention", "before", "credit", "known"}[:inputs]}
	if k := int64(n.TopK); k > 0 {
		b.nodes = append(b.nodes, &graph.Node{Op: "TopK", Inputs: []string{d, b.ints(k)}, Outputs: []string{"top", "top_id"}})
		live := b.op("And", good, b.op("Greater", "top", minus))
		b.output("Cast", "top_ids", []*graph.Attribute{graph.Int("to", int64(graph.Int32))}, b.op("Where", live, "top_id", b.ints(-1)))
		b.output("Where", "top_logp", nil, good, b.op("Sub", "top", lnZ), nan)
		f.Outputs = append(f.Outputs, "top_ids", "top_logp")
	}
	for i, is := range h.carries() {
		if is {
			f.Outputs = append(f.Outputs, []string{"now", "credit_now"}[i])
		}
	}
	f.Nodes = b.nodes
	return f
}

// at gathers x [B, L, V] at index [B, L, 1].
func (b *body) at(x, index string) string {
	return b.attr("GatherElements", []*graph.Attribute{graph.Int("axis", 2)}, x, index)
}

func (b *body) output(op, name string, attributes []*graph.Attribute, in ...string) {
	b.nodes = append(b.nodes, &graph.Node{Name: name, Op: op, Inputs: in, Outputs: []string{name}, Attributes: attributes})
}

// filter returns et with 0 where top-k, top-p or min-p drop a token. It works on the sorted tokens and scatters back.
func (b *body) filter(d, dt, et, temperature string, param func(int64) string, v int, below bool) string {
	zero := b.float(0)
	sorted, order := "sorted", "order"
	b.nodes = append(b.nodes, &graph.Node{Op: "TopK", Inputs: []string{d, b.ints(int64(v))}, Outputs: []string{sorted, order}})
	scaled := b.op("Div", sorted, temperature)

	k := param(1)
	last := b.op("Min", b.op("Max", b.op("Sub", b.cast(k, graph.Int64), b.ints(1)), b.ints(0)), b.ints(int64(v-1))) // [B, 1, 1]
	column := b.op("Shape", b.reduce("ReduceMax", d))                                                               // of [B, L, 1]
	kth := b.at(sorted, b.op("Expand", last, column))
	keep := b.op("Or", b.op("LessOrEqual", k, zero), b.op("GreaterOrEqual", sorted, kth))

	mass := b.cast(b.op("Where", keep, b.op("Exp", scaled), zero), graph.Float64)
	exclusive := int64(1)
	if below {
		exclusive = 0
	}
	before := b.attr("CumSum", []*graph.Attribute{graph.Int("exclusive", exclusive)}, mass, b.constant(graph.OfInts("", nil, []int64{2})))
	topP := param(2)
	crossing := b.op("LessOrEqual", before, b.op("Mul", b.cast(topP, graph.Float64), b.sum(mass)))
	keep = b.op("And", keep, b.op("Or", b.op("GreaterOrEqual", topP, b.float(1)), crossing))

	keep = b.op("And", keep, b.op("GreaterOrEqual", scaled, b.op("Log", b.op("Min", param(3), b.float(1)))))
	best := make([]byte, v)
	best[0] = 1
	keep = b.op("Or", keep, b.constant(&graph.Tensor{Type: graph.Bool, Dims: []int64{int64(v)}, Raw: best}))

	kept := b.attr("ScatterElements", []*graph.Attribute{graph.Int("axis", 2)},
		b.op("ConstantOfShape", b.op("Shape", d)), order, b.cast(keep, graph.Float32))
	return b.op("Where", b.op("Greater", kept, zero), et, zero)
}
