package trainer

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Counted is a corruption that masks an exact number of free positions, each choice of them alike.
type Counted struct {
	Masked graph.Value // bool [B, L]
	N      graph.Value // float32 [B]: free positions
	K      graph.Value // float32 [B]: masks, 1 to N; 0 where N is 0
}

// ExactCount masks k = N - floor(u N) free positions, uniform on 1..N for uniform u, float32 [B, 1] (PAPL algorithm 1, lines
// 3 and 4). A stratified u spreads the counts of a batch.
func ExactCount(g *graph.Builder, in Inputs, u graph.Value) Counted {
	n := in.FreeCount()
	spared := g.Min(g.Floor(g.Mul(g.Squeeze(u, 1), n)), g.Max(g.Sub(n, g.Float(1)), g.Float(0)))
	k := g.Sub(n, spared)
	masked := g.Less(in.Rank(), g.Unsqueeze(g.Cast(k, graph.Int64), 1)) // a position that is not free has a rank above all k
	return Counted{Masked: masked, N: n, K: k}
}

// Weight is N/K, float32 [B]: times the masked cross-entropy it is a sample whose mean is the bound (MD4 sheet, exact-k form);
// 0 where nothing is free.
func (c Counted) Weight(g *graph.Builder) graph.Value {
	return g.Div(c.N, g.Max(c.K, g.Float(1)))
}

// Fraction is K/N, float32 [B, 1]: which part of the row is masked; 0 where nothing is free.
func (c Counted) Fraction(g *graph.Builder) graph.Value {
	return g.Unsqueeze(g.Div(c.K, g.Max(c.N, g.Float(1))), 1)
}

// CountBound is the evaluation of a masked denoiser: one sample of the bound with an exact count of masks, the same for every
// schedule in continuous time and the one of the least variance. Counts are stratified over the batch.
//
// A network that takes the time is told timeOf(K/N), float32 [B, 1]; nil is the fraction itself, as the linear schedule has
// it. The bound is then that of a sampler that reveals token after token and tells the network that time.
func CountBound(g *graph.Builder, in Inputs, timeOf func(fraction graph.Value) graph.Value) Bound {
	c := ExactCount(g, in, in.Time(Stratified, 0))
	t := c.Fraction(g)
	if timeOf != nil {
		t = timeOf(t)
	}
	logits := in.Network("denoiser", IDs(g.Select(c.Masked, in.MaskID(), in.Tokens())).At(t))["logits"]
	ce := g.RowSum(g.Keep(c.Masked, g.CrossEntropy(logits, in.Tokens()))) // [B], nats
	return RowBound(g.Mul(c.Weight(g), ce), c.N).
		Metric("ce", ce, c.K).
		Metric("accuracy", Hits(g, in, logits, c.Masked), c.K)
}

// Hits counts the masked positions whose likeliest token is the true one, float32 [B].
func Hits(g *graph.Builder, in Inputs, logits, masked graph.Value) graph.Value {
	best := g.Op("ArgMax", []*graph.Attribute{graph.Int("axis", -1), graph.Int("keepdims", 0)}, logits) // [B, L]
	return g.RowSum(g.Cast(g.And(masked, g.Equal(best, in.Tokens())), graph.Float32))
}
