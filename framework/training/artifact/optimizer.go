package artifact

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

// AdamW holds the constants of the optimiser, in PyTorch's form (epsilon outside the bias correction). What changes from step to
// step is fed: see [Scalars].
type AdamW struct {
	Beta1       float64 `json:"beta1"`
	Beta2       float64 `json:"beta2"`
	Epsilon     float64 `json:"epsilon"`
	WeightDecay float64 `json:"weight_decay"`
	Average     bool    `json:"average"` // keep an exponential moving average of the parameters
}

// Names of the optimizer's values, besides params and grads.
const (
	Params   = "params"
	Grads    = "grads"
	Moment1  = "adam_m"
	Moment2  = "adam_v"
	Average  = "ema"
	GradNorm = "grad_norm" // output: norm of the mean gradient before clipping
	Scalars  = "scalars"   // input float32 [6], see Scalar*
	Next     = "next_"     // prefix of outputs that take an input's place
)

// Places in [Scalars].
const (
	ScalarRate    = iota // learning rate
	ScalarClip           // largest norm of the gradient; 0 = no clipping
	ScalarBias1          // 1 - beta1^t
	ScalarBias2          // 1 - beta2^t
	ScalarAverage        // share of the old average that stays
	ScalarScale          // factor of the gradient: 1 / number of accumulated batches
	scalarCount
)

// optimizer writes one AdamW step over flat vectors [P]: clipping by the global norm as PyTorch's clip_grad_norm_, decoupled
// weight decay, moving average.
func optimizer(ps []Parameter, size int64, o AdamW, opset int64) (*graph.Model, error) {
	b := graph.NewBuilder("optimizer", opset)
	in := func(name string) graph.Value { return b.Input(name, graph.Float32, graph.Known(size)) }
	params, grads, m, v := in(Params), in(Grads), in(Moment1), in(Moment2)
	scalars := b.Input(Scalars, graph.Float32, graph.Known(scalarCount))
	scalar := func(i int64) graph.Value { return b.Slice(scalars, 0, i, i+1) } // [1]

	norm := b.Sqrt(b.Op("ReduceSumSquare", []*graph.Attribute{graph.Int("keepdims", 0)}, grads))
	norm = b.Mul(norm, b.Squeeze(scalar(ScalarScale), 0)) // of the mean over accumulated batches
	clip := scalar(ScalarClip)
	limited := b.Min(b.Div(clip, b.Add(norm, b.Float(1e-6))), b.Float(1))
	factor := b.Mul(b.Select(b.Greater(clip, b.Float(0)), limited, b.Float(1)), scalar(ScalarScale)) // [1]

	step := b.OpN("mdm.AdamW", 3, []*graph.Attribute{graph.Float("rest1", float32(1-o.Beta1)), graph.Float("rest2", float32(1-o.Beta2)), graph.Float("epsilon", float32(o.Epsilon))},
		params, grads, m, v, perElement(b, ps, func(p *Parameter) float64 { return o.WeightDecay * p.DecayRate }), perElement(b, ps, func(p *Parameter) float64 { return p.Rate }),
		b.Concat(0, scalar(ScalarRate), factor, scalar(ScalarBias1), scalar(ScalarBias2)))
	outputs := []graph.Output{{Name: Next + Params, Value: step[0]}, {Name: Next + Moment1, Value: step[1]}, {Name: Next + Moment2, Value: step[2]}}
	if o.Average {
		ema := in(Average)
		outputs = append(outputs, graph.Output{Name: Next + Average, Value: b.Add(step[0], b.Mul(b.Sub(ema, step[0]), scalar(ScalarAverage)))})
	}
	return b.Model(append(outputs, graph.Output{Name: GradNorm, Value: norm})...)
}

// perElement is a constant vector [P] that has one number for each element, or [1] where it is the same for all. It is written as a few runs, which the runtime
// unfolds when it loads the graph, so that the file stays small.
func perElement(b *graph.Builder, ps []Parameter, of func(*Parameter) float64) graph.Value {
	var runs []graph.Value
	for i := 0; i < len(ps); {
		v, n := of(&ps[i]), int64(0)
		for ; i < len(ps) && of(&ps[i]) == v; i++ {
			n += ps[i].Size()
		}
		if runs == nil && i == len(ps) {
			return b.Floats([]int64{1}, []float32{float32(v)})
		}
		runs = append(runs, b.Expand(b.Float(v), b.Ints(n)))
	}
	return b.Concat(0, runs...)
}
