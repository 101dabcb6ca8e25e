package sdk_test

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// MD4 is the masked diffusion loss with the linear schedule, a graph.
func MD4(g *graph.Builder, in trainer.Inputs) trainer.Loss {
	t := in.Time(trainer.SharedOffset, 1e-4)                         // [B, 1]
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L], never a fixed or padded position
	out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())).At(t))
	nll := g.CrossEntropy(out["logits"], in.Tokens()) // [B, L], nats
	return trainer.PerRow(g.RowSum(g.Div(g.Keep(masked, nll), t)))
}

// Clip is what a user may set, as trainer.floor.
type Clip struct {
	Floor float64 `option:"floor" default:"0.05" min:"0" max:"1" help:"times below it weigh as it does"`
}

// Clipped is MD4 whose weights 1/t are bounded.
func Clipped(o Clip, task spec.Task) (trainer.Definition, error) {
	return trainer.Definition{
		Summary: fmt.Sprintf("MD4, weights up to %g, %d tokens", 1/o.Floor, task.V),
		Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			t := in.Time(trainer.SharedOffset, 1e-4)
			masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t))
			out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())).At(t))
			nll := g.Keep(masked, g.CrossEntropy(out["logits"], in.Tokens()))
			return trainer.PerToken(g.RowSum(g.Div(nll, g.Max(t, g.Float(o.Floor)))), in.FreeCount())
		},
	}, nil
}

// The whole main function of a trainer without options.
func ExampleServeTrainer() {
	sdk.ServeTrainer("md4-linear", MD4, sdk.Summary("MD4 with the linear schedule"))
}

// The whole main function of a trainer with options.
func ExampleServeTrainerWith() {
	sdk.ServeTrainerWith("md4-clipped", Clipped, sdk.Version("0.1.0"), sdk.Summary("MD4 with bounded weights"))
}

// A trainer that is a value is served as it is.
func ExampleServeTrainerValue() {
	sdk.ServeTrainerValue(sdk.NewTrainer("md4-clipped", Clipped))
}

// In process, a trainer writes its graphs without a model or a runtime: the task says what the denoiser takes and gives.
func ExampleNewTrainer() {
	task := spec.Task{Options: []byte(`{"floor": 0.1}`), V: 20, MaskID: 19, PadID: -1, Suppressed: []int64{19}, Opset: graph.DefaultOpset, Denoiser: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("B", "L")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("B", "L", 20)}},
	}}
	reply, err := sdk.NewTrainer("md4-clipped", Clipped).Build(context.Background(), task)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Summary)
	for _, in := range reply.Spec.Inputs {
		fmt.Println("input", in.Name, in.Kind)
	}
	// Output:
	// MD4, weights up to 10, 20 tokens
	// input time time
	// input free free
	// input u uniform
	// input tokens tokens
	// input time2 time
	// input rank rank
}
