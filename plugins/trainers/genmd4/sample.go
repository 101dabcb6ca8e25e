package genmd4

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// sample is one masking of every row at its time, and what the denoiser makes of it.
type sample struct {
	logits graph.Value // float32 [B, L, V]
	masked graph.Value // bool [B, L]
	loss   graph.Value // float32 [B]: (1-t1)/t times the rows' terms, nats
	logq   graph.Value // float64 [B]: log q(x_t | x_0) over all free tokens, the visible ones too
	ce     graph.Value // float32 [B]: masked cross-entropy, nats
	k      graph.Value // float32 [B]: masks
}

// sample masks each free token with probability (1-eps) t^w, t float32 [B, 1], by uniform noise of a name.
func (w *exponents) sample(in trainer.Inputs, t graph.Value, noise string) sample {
	g := w.g
	logu := w.logMasked(g.Log(g.Cast(t, graph.Float64))) // [B, L]
	u := g.Cast(in.Uniform(noise, "B", "L"), graph.Float64)
	s := sample{masked: g.And(in.Free(), g.Less(g.Log(u), logu))}
	s.logq = g.RowSum(g.Keep(in.Free(), g.Select(s.masked, logu, w.logVisible(logu))))
	noised := g.Select(s.masked, in.MaskID(), in.Tokens())
	s.logits = in.Network("denoiser", trainer.IDs(noised).At(t))["logits"]
	ce := g.CrossEntropy(s.logits, in.Tokens()) // [B, L]
	s.ce, s.k = g.RowSum(g.Keep(s.masked, ce)), g.RowSum(g.Cast(s.masked, graph.Float32))
	rate := g.Div(g.Float(1-w.o.T1), g.Squeeze(t, 1))
	s.loss = g.Mul(rate, g.RowSum(g.Keep(s.masked, w.terms(in, s.logits, ce))))
	return s
}

// terms are w_x (expm1(a) - a) + sum over i != x of w_i mu_i, a = log mu_x, float32 [B, L]: the paper's -w.(x (1 + a) - mu) without
// its cancellation, each at least 0. With equal exponents it is w times the cross-entropy -a. Suppressed tokens have mu = 0.
func (w *exponents) terms(in trainer.Inputs, logits, ce graph.Value) graph.Value {
	g := w.g
	h := g.Tanh(g.Mul(ce, g.Float(0.5))) // expm1(-ce) = -2h/(1 + h)
	self := g.Sub(ce, g.Div(g.Add(h, h), g.Add(h, g.Float(1))))
	hit := g.Equal(g.Unsqueeze(in.Tokens(), -1), g.Range(g.Int(int64(in.V())))) // [B, L, V]
	others := g.Select(hit, g.Float(0), g.Softmax(logits, -1))
	column := g.Unsqueeze(g.Cast(w.all, graph.Float32), 1) // [V, 1]
	return g.Add(g.Mul(g.Cast(w.own, graph.Float32), self), g.Squeeze(g.MatMul(others, column), -1))
}
