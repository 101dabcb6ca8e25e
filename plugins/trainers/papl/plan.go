package papl

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// plan is the soft-greedy planner on the true tokens, detached. All its values are 0 at positions without a mask.
type plan struct {
	p graph.Value // float32 [B, L]: the probability of the true token
	w graph.Value // float32 [B, L]: the planner's distribution over the masked positions
}

// newPlan makes w = softmax over masked positions of -nll/tau; nll is detached already.
func newPlan(g *graph.Builder, c corruption, nll graph.Value, o Options) plan {
	tau := o.Tau
	if o.Form == string(diffusion.OpenDLLM) {
		tau = 1 // for the metrics; its loss takes p as it is
	}
	p := plan{p: g.Keep(c.masked, g.Exp(g.Neg(nll)))}
	switch {
	case math.IsInf(tau, 1):
		p.w = g.Keep(c.masked, g.Reciprocal(g.Max(g.Unsqueeze(c.k, 1), g.Float(1))))
	case tau == 0: // the likeliest, at the lowest position of equals
		score := g.Select(c.masked, g.Neg(nll), g.Float(never))
		hit := g.And(c.masked, g.Equal(score, g.ReduceMax(score, true, 1)))
		ones := g.Cast(hit, graph.Float32)
		p.w = g.Keep(g.LessOrEqual(g.CumSum(ones, 1), g.Float(1)), ones)
	default:
		score := g.Select(c.masked, g.Div(g.Neg(nll), g.Float(tau)), g.Float(never))
		e := g.Keep(c.masked, g.Exp(g.Sub(score, g.ReduceMax(score, true, 1))))
		p.w = g.Div(e, g.Max(g.ReduceSum(e, true, 1), g.Float(tiny))) // a row without masks is 0 everywhere
	}
	return p
}

// never is below every score, and finite, so that rows without masks make no NaN; tiny is above 0.
const (
	never = -1e30
	tiny  = 1e-30
)

// coefficients are those of nll in the forms of the sheet's table 4.9; open_dllm's are not divided by the batch's masks yet. With
// alpha 0, from the options or the warm-up, they are those of the plain loss to the bit.
func (p plan) coefficients(g *graph.Builder, in trainer.Inputs, c corruption, o Options) graph.Value {
	inverse := g.Reciprocal(g.Max(g.Unsqueeze(c.k, 1), g.Float(1))) // 1/n, [B, 1]
	open := o.Form == string(diffusion.OpenDLLM)
	if o.Alpha == 0 {
		if open {
			return g.Float(1)
		}
		return inverse
	}
	alpha := g.Float(o.Alpha)
	if o.WarmUp > 0 {
		alpha = g.Mul(alpha, g.Min(g.Div(in.Scalar("progress"), g.Float(o.WarmUp)), g.Float(1)))
	}
	switch {
	case open:
		return g.Add(g.Float(1), g.Mul(alpha, g.Div(p.p, g.Max(c.ratio, g.Float(tiny)))))
	case o.Form == string(diffusion.PELBO):
		return g.Add(inverse, g.Mul(alpha, p.w))
	}
	return g.Mul(inverse, g.Add(g.Float(1), g.Mul(alpha, p.w)))
}

// metrics are the planner's entropy in nats, the number of positions that it weighs, 1/sum w^2, both over rows with masks, and
// the mean probability of true tokens.
func (p plan) metrics(g *graph.Builder, c corruption, l trainer.Loss) trainer.Loss {
	rows := g.Min(c.k, g.Float(1)) // 1 for rows with masks
	entropy := g.Neg(g.RowSum(g.Mul(p.w, g.Log(g.Max(p.w, g.Float(tiny))))))
	effective := g.Div(rows, g.Max(g.RowSum(g.Mul(p.w, p.w)), g.Float(tiny)))
	return l.Metric("p_masked", g.RowSum(p.p), c.k).
		Metric("planner_entropy", entropy, rows).
		Metric("planner_positions", effective, rows)
}
