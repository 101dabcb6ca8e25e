package interpolant

import (
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// Rows are the clean rows of a batch, each as often as it is corrupted: N = B K, with the K copies of a row side by side.
type Rows struct {
	g  *graph.Builder
	in trainer.Inputs
	k  int // copies

	mask graph.Value // int64 scalar
	pad  int64       // what stands behind rows that have become shorter

	Tokens graph.Value // int64 [N, L]
	Free   graph.Value // bool [N, L]: real and not fixed
	Real   graph.Value // bool [N, L]
	T      graph.Value // float32 [N, 1]: copies of a row share their time
	U      graph.Value // float64 [N, 1]: the clock at T
	H      graph.Value // float32 [N]: its slope by the time that the host draws; for a stretch of 1 the hazard of an event of speed 1
}

// Read takes each row of the batch k times, at one time.
//
// Times are drawn uniformly and then moved to where the clock shows stretch times as much; H makes up for it, so that the mean of
// what it multiplies stays what it is. What is left to do at the clock u falls as e^-u while H grows as e^(u/stretch): the squares of
// their product have no mean for a stretch of 1 (but for the cut-off eps), the least one for 2, and their times reach twice as far.
func Read(g *graph.Builder, in trainer.Inputs, a float64, times diffusion.TimeSampler, eps, stretch float64, k int) Rows {
	t := in.Time(times, eps) // [B, 1]
	u, h := Clock(g, g.Cast(t, graph.Float64), a)
	if stretch != 1 {
		u, h = g.Mul(u, g.Double(stretch)), g.Mul(h, g.Double(stretch))
		t = g.Sub(g.Double(1), g.Exp(g.Neg(u)))
		if a != 1 {
			t = g.Pow(t, g.Double(1/a))
		}
		t = g.Cast(t, graph.Float32)
	}
	r := Rows{g: g, in: in, k: k, mask: in.MaskID(), pad: max(in.Task().PadID, 0)}
	r.Tokens = r.Copies(in.Tokens())
	r.Free = r.Copies(in.Free())
	r.Real = g.Cast(r.Copies(in.AttentionMask()), graph.Bool)
	r.T, r.U = r.Copies(t), r.Copies(u)
	r.H = g.Squeeze(r.Copies(g.Cast(h, graph.Float32)), 1)
	return r
}

// Clock is U(t) = -log(1 - t^a) and h(t) = dU/dt = a t^(a-1) / (1 - t^a) of times inside (0, 1), float64 (methods/loflexmdm.md, section 4.2).
func Clock(g *graph.Builder, t graph.Value, a float64) (u, h graph.Value) {
	one := g.Double(1)
	if a == 1 {
		rest := g.Sub(one, t)
		return g.Neg(g.Log(rest)), g.Div(one, rest)
	}
	rest := g.Sub(one, g.Pow(t, g.Double(a)))
	return g.Neg(g.Log(rest)), g.Div(g.Mul(g.Double(a), g.Pow(t, g.Double(a-1))), rest)
}

// Copies is x [B, D] with each row k times, [N, D].
func (r Rows) Copies(x graph.Value) graph.Value {
	if r.k == 1 {
		return x
	}
	wide := make([]graph.Value, r.k)
	for i := range wide {
		wide[i] = x
	}
	return r.flat(r.g.Concat(1, wide...), x)
}

// Noise is uniform noise [N, L] under a name.
func (r Rows) Noise(name string) graph.Value {
	if r.k == 1 {
		return r.in.Uniform(name, "B", "L")
	}
	return r.flat(r.in.Uniform(name, "B", r.k, "L"), r.in.Tokens())
}

// flat is x as rows of the width of like [B, D], [N, D].
func (r Rows) flat(x, like graph.Value) graph.Value {
	g := r.g
	if d := like.Dim(1); d.IsKnown() {
		return g.ReshapeTo(x, g.Ints(-1, d.Size))
	}
	return g.ReshapeTo(x, g.Concat(0, g.Ints(-1), g.Slice(g.Shape(like), 0, 1, 2)))
}

// Apart is x [N] with the copies of a row side by side, [B, K].
func (r Rows) Apart(x graph.Value) graph.Value {
	return r.g.ReshapeTo(x, r.g.Ints(-1, int64(r.k)))
}

// Mean is the mean over the copies of a row, [N] to [B].
func (r Rows) Mean(x graph.Value) graph.Value {
	if r.k == 1 {
		return x
	}
	return r.g.ReduceMean(r.Apart(x), false, 1)
}
