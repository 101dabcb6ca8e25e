package genmd4

import (
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// exponents writes what follows from the exponents alone. It computes in float64, on [V] and [B, L]: next to a pass of the network
// these cost nothing, and logarithms of probabilities near 1 keep their digits.
type exponents struct {
	g    *graph.Builder
	o    Options
	real []int64     // the tokens that can be
	all  graph.Value // float64 [V]
	own  graph.Value // float64 [B, L]: of the true tokens
}

// speeds is w = softplus(raw) = log(1 + e^raw), written out: the runtime has no Softplus in float64.
func speeds(g *graph.Builder, in trainer.Inputs, o Options) *exponents {
	raw := in.Param(spec.RawExponents)
	if o.Frozen {
		raw = g.StopGradient(raw) // the norm by which gradients are clipped leaves it out, too
	}
	w := &exponents{g: g, o: o, all: g.Log(g.Add(g.Double(1), g.Exp(g.Cast(raw, graph.Float64))))}
	w.own = g.Gather(w.all, in.Tokens(), 0)
	for id := range int64(in.V()) {
		if !slices.Contains(in.Task().Suppressed, id) {
			w.real = append(w.real, id)
		}
	}
	return w
}

// time is uniform on [t1, 1], float32 [B, 1].
func (w *exponents) time(in trainer.Inputs, sampler diffusion.TimeSampler) graph.Value {
	g := w.g
	return g.Add(g.Mul(in.Time(sampler, 0), g.Float(1-w.o.T1)), g.Float(w.o.T1))
}

// logMasked is log u = log((1-eps) t^w) for the true tokens, float64 [B, L], by log t of [B, 1] or of a scalar.
func (w *exponents) logMasked(logt graph.Value) graph.Value {
	return w.g.Add(w.g.Mul(w.own, logt), w.g.Double(math.Log1p(-w.o.Eps)))
}

// logVisible is log(1 - u) from log u: with h = tanh(-log u / 2) it is log(2h/(1 + h)), which loses no digits near u = 1.
func (w *exponents) logVisible(logu graph.Value) graph.Value {
	g := w.g
	h := g.Tanh(g.Mul(logu, g.Double(-0.5)))
	return g.Log(g.Div(g.Add(h, h), g.Add(h, g.Double(1))))
}

// reconstruction is the cost of tokens that are masked at t1 already, whose law given the mask is softmax(w log t1), nats, float32
// [B]. Without it the exponents would hide what they cost below t1.
func (w *exponents) reconstruction(in trainer.Inputs) graph.Value {
	g := w.g
	logt := g.Double(math.Log(w.o.T1))
	a := g.Mul(g.Gather(w.all, g.Ints(w.real...), 0), logt) // [m]
	top := g.StopGradient(g.ReduceMax(a, false))
	lse := g.Add(top, g.Log(g.ReduceSum(g.Exp(g.Sub(a, top)), false)))
	nats := g.Mul(g.Exp(w.logMasked(logt)), g.Sub(lse, g.Mul(w.own, logt))) // [B, L]
	return g.Cast(g.RowSum(g.Keep(in.Free(), nats)), graph.Float32)
}

// metrics adds the least, the largest and the mean exponent of the tokens that can be.
func (w *exponents) metrics(l trainer.Loss) trainer.Loss {
	g, one := w.g, w.g.Float(1)
	real := g.Cast(g.Gather(w.all, g.Ints(w.real...), 0), graph.Float32)
	return l.Metric("w_min", g.ReduceMin(real, false), one).
		Metric("w_mean", g.ReduceMean(real, false), one).
		Metric("w_max", g.ReduceMax(real, false), one)
}
