// Package trainer is what an author writes trainers with: a trainer is a graph.
//
// A [Func] writes the loss with a [graph.Builder] and the values that [Inputs] hands out: data, noise that the host draws,
// networks that are called by name. What it writes becomes the training graph; the host differentiates it. An [EvalFunc] writes
// the graph that evaluates a row.
//
//	func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
//		t := in.Time(trainer.SharedOffset, 1e-4)                         // [B, 1]
//		masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L]
//		out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())).At(t))
//		nll := g.CrossEntropy(out["logits"], in.Tokens()) // [B, L], nats
//		return trainer.PerRow(g.RowSum(g.Div(g.Keep(masked, nll), t)))
//	}
//
// Rules that save a day: the graph is written once, for every batch and length, so B and L stay symbolic. Use Keep or Select
// where a position does not count; a product with 0 does not save from an infinity. A weight that depends on the network goes
// through g.StopGradient, or the gradient goes through the weight. Suppressed tokens, the mask first of all, have probability 0
// in the logits that [Inputs.Network] returns.
package trainer
