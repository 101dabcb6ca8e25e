package trainer_test

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// written builds a definition for a denoiser of 7 tokens and shows what the host is told.
func written(d trainer.Definition) {
	reply, err := trainer.Build("mine", task(true), d)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := graph.Decode(reply.Training)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range m.Graph.Outputs {
		fmt.Print(o.Name, " ")
	}
	fmt.Println(reply.Spec.Bound)
}

// A loss with everything that a graph may read. The evaluation is left out: it is the plain bound of a masked denoiser.
func ExampleBuild() {
	written(trainer.Definition{
		Params: []spec.Param{{Name: "tilt", Shape: []int64{7}}},
		Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			t := in.Time(trainer.Stratified, 1e-3)                           // [B, 1], in (0, 1)
			masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L]: free is real and not fixed
			noised := g.Select(masked, in.MaskID(), in.Tokens())             // [B, L]
			out := in.Network("denoiser", trainer.IDs(noised).At(t).With("attention_mask", in.AttentionMask()))
			logits := g.Add(out["logits"], in.Param("tilt")) // [B, L, V]
			nll := g.Keep(masked, g.CrossEntropy(logits, in.Tokens()))
			ramp := in.Scalar("progress") // of the run, 0 to 1
			row := g.Mul(ramp, g.RowSum(g.Div(nll, t)))
			masks := g.RowSum(g.Cast(masked, graph.Float32))
			prompt := g.RowSum(g.Cast(in.Fixed(), graph.Float32))
			return trainer.PerToken(row, in.FreeCount()).
				Metric("accuracy", trainer.Hits(g, in, logits, masked), masks).
				Metric("prompt", prompt, g.Cast(in.Lengths(), graph.Float32))
		},
	})
	// Output: loss metric.accuracy.sum metric.accuracy.count metric.prompt.sum metric.prompt.count bound
}

// An exact number of masks in every row, uniform from 1 to all that is free: fewer surprises than a coin per position.
func ExampleExactCount() {
	written(trainer.Definition{Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
		c := trainer.ExactCount(g, in, in.Time(trainer.IID, 0))
		out := in.Network("denoiser", trainer.IDs(g.Select(c.Masked, in.MaskID(), in.Tokens())).At(c.Fraction(g)))
		nll := g.RowSum(g.Keep(c.Masked, g.CrossEntropy(out["logits"], in.Tokens())))
		return trainer.PerRow(g.Mul(c.Weight(g), nll))
	}})
	// Output: loss bound
}

// An order of one's own: positions by rank, one number for the batch, and the plain bound for the evaluation.
func ExampleScalar() {
	written(trainer.Definition{
		Bound: spec.PathBound,
		Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			half := g.And(in.Free(), g.Less(in.Rank(), g.Int(int64(in.V()/2)))) // the first three of a random order
			out := in.Network("denoiser", trainer.IDs(g.Select(half, in.MaskID(), in.Tokens())).At(g.Unsqueeze(g.Cast(in.Lengths(), graph.Float32), 1)))
			return trainer.Scalar(g.ReduceMean(g.CrossEntropy(out["logits"], in.Tokens()), false))
		},
		Eval: func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return trainer.CountBound(g, in, nil) },
	})
	// Output: loss path_bound
}

// An evaluation of one's own: nats and tokens per row, with what else is worth a look.
func ExampleRowBound() {
	sure := func(g *graph.Builder, in trainer.Inputs) trainer.Bound {
		n := in.FreeCount()                                  // [B]
		all := g.Select(in.Free(), in.MaskID(), in.Tokens()) // everything masked
		out := in.Network("denoiser", trainer.IDs(all).At(g.Unsqueeze(g.Sub(n, n), 1)))
		nll := g.RowSum(g.Keep(in.Free(), g.CrossEntropy(out["logits"], in.Tokens())))
		return trainer.RowBound(nll, n).Metric("vocabulary", g.Mul(n, g.Float(float64(in.Task().V))), n)
	}
	written(trainer.Definition{Loss: sketch, Eval: sure, Bound: spec.Estimate})
	// Output: loss estimate
}
