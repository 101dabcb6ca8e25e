package p2planner

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// verdict is what the planner says of a proposal.
type verdict struct {
	g *graph.Builder
	proposal
	bce graph.Value // float32 [B, L]: binary cross-entropy in nats
}

// judge asks the planner: a is the log-odds that a token is right, and -log of the label's probability is softplus(a) - y a, which
// is finite for every a.
func judge(g *graph.Builder, in trainer.Inputs, o Options, p proposal) verdict {
	call := trainer.IDs(p.z)
	var a graph.Value // [B, L]
	if o.Head == "vocabulary" {
		a = odds(g, in.Network(Planner, call)["logits"], p.z)
	} else {
		if o.MaskPattern {
			call = call.With("masked", g.Cast(p.masked, graph.Int64))
		}
		a = in.Network(Planner, call)["keep"]
	}
	return verdict{g, p, g.Sub(g.Softplus(a), g.Mul(p.right, a))}
}

// impossible is a logit whose token takes no part in a sum.
const impossible = -1e9

// odds is log p - log(1-p) of the token's probability p, without the 1-p that rounds to 0: its logit over the log-sum of all others.
func odds(g *graph.Builder, logits, z graph.Value) graph.Value {
	at := g.Unsqueeze(z, 2)                                                                       // [B, L, 1]
	own := g.Equal(at, g.Constant(graph.OfInts("", []int64{1, 1, width(logits)}, count(logits)))) // [B, L, V]
	others := g.Select(own, g.Float(impossible), logits)
	top := g.StopGradient(g.ReduceMax(others, true, -1))
	rest := g.Add(g.Log(g.ReduceSum(g.Exp(g.Sub(others, top)), true, -1)), top)
	return g.Squeeze(g.Sub(g.GatherElements(logits, at, -1), rest), 2)
}

func width(logits graph.Value) int64 { return logits.Dim(2).Size }

// count is 0, 1, ..., V-1.
func count(logits graph.Value) []int64 {
	out := make([]int64, width(logits))
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// sum adds the cross-entropies at some positions up, float32 [B].
func (v verdict) sum(where graph.Value) graph.Value { return v.g.RowSum(v.g.Keep(where, v.bce)) }

type metric struct {
	name       string
	sum, count graph.Value
}

// metrics are of masked positions, which teach G_M, and of unmasked ones, which teach G_U: the cross-entropy, that of the
// constant predictor (who knows the share of right tokens in the batch and nothing else), and that share. A planner below the
// constant has learned something.
func (v verdict) metrics(free graph.Value) []metric {
	g := v.g
	all := g.RowSum(g.Cast(free, graph.Float32))
	out := []metric{{"nll", v.sum(free), all}} // of all verdicts: what the curve shows
	for _, part := range []struct {
		name  string
		where graph.Value
	}{{"masked", v.masked}, {"unmasked", g.And(free, g.Not(v.masked))}} {
		n := g.RowSum(g.Cast(part.where, graph.Float32))
		right := g.RowSum(g.Keep(part.where, v.right))
		out = append(out, metric{"bce_" + part.name, v.sum(part.where), n}, metric{"right_" + part.name, right, n})
		total := g.ReduceSum(n, false)
		share := g.Div(g.ReduceSum(right, false), g.Max(total, g.Float(1)))
		out = append(out, metric{"constant_" + part.name, g.Mul(total, entropy(g, share)), total})
	}
	return out
}

// tiny is above 0: 0 log 0 is 0.
const tiny = 1e-30

// entropy is that of a coin in nats.
func entropy(g *graph.Builder, p graph.Value) graph.Value {
	term := func(q graph.Value) graph.Value { return g.Mul(q, g.Log(g.Max(q, g.Float(tiny)))) }
	return g.Neg(g.Add(term(p), term(g.Sub(g.Float(1), p))))
}
