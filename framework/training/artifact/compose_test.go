package artifact_test

import (
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// TestLossOfNothing: a loss whose gradient by the denoiser is zero whatever the data is refused, and so is nothing else.
func TestLossOfNothing(t *testing.T) {
	for name, c := range map[string]struct {
		loss func(g *graph.Builder, in trainer.Inputs, nll graph.Value) graph.Value
		want string
	}{
		"whole":   {func(_ *graph.Builder, _ trainer.Inputs, nll graph.Value) graph.Value { return nll }, ""},
		"stopped": {func(g *graph.Builder, _ trainer.Inputs, nll graph.Value) graph.Value { return g.StopGradient(nll) }, "trainer still: its loss has no gradient by any parameter of the denoiser"},
		"data":    {func(_ *graph.Builder, in trainer.Inputs, _ graph.Value) graph.Value { return in.FreeCount() }, "trainer still: its loss has no gradient by any parameter of the denoiser"},
	} {
		n := artifact.Transformer(network.Config{VocabSize: 6, HiddenSize: 8, Layers: 1, Heads: 2, MaxPositions: 4, Positions: "rope", Norm: "layer", Activation: "gelu"}.Filled())
		task := spec.Task{Options: []byte(`{}`), V: 6, MaskID: 5, PadID: -1, Suppressed: []int64{5}, Denoiser: n.Signature(), Opset: graph.DefaultOpset}
		still := sdk.NewTrainer("still", func(struct{}, spec.Task) (trainer.Definition, error) {
			return trainer.Definition{Summary: "still", Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
				masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), g.Float(0.5)))
				logits := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())))["logits"]
				nll := g.RowSum(g.Keep(masked, g.CrossEntropy(logits, in.Tokens())))
				return trainer.PerToken(c.loss(g, in, nll), in.FreeCount())
			}}, nil
		})
		reply, err := still.Build(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		_, err = artifact.Compose(artifact.Composition{Trainer: "still", Task: task, Reply: reply, Networks: map[string]artifact.Network{spec.Denoiser: n}, Rows: 2, EvalRows: 2, Length: 4})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestSharedNetworks: a network that shares another's parameters has those of its own that the other lacks, and no more.
func TestSharedNetworks(t *testing.T) {
	c := network.Config{VocabSize: 6, HiddenSize: 8, Layers: 1, Heads: 2, MaxPositions: 5, Gaps: network.GapsEOS, Time: network.AdaLN}.Filled()
	denoiser := artifact.Transformer(c)
	task := spec.Task{Options: []byte(`{}`), V: 6, MaskID: 5, PadID: 4, Suppressed: []int64{4, 5}, Denoiser: denoiser.Signature(), Opset: graph.DefaultOpset}
	for share, own := range map[string]int{"": len(network.Params(network.OrderOf(c, false))), spec.Denoiser: 4} {
		order := artifact.Transformer(network.OrderOf(c, share != ""))
		ordered := sdk.NewTrainer("ordered", func(struct{}, spec.Task) (trainer.Definition, error) {
			return trainer.Definition{Summary: "ordered", Networks: []spec.Network{{Name: "order", Signature: order.Signature(), Init: spec.Fresh, ShareWith: share}},
				Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
					at := in.Uniform("t", "B")
					speeds := in.Network("order", trainer.IDs(in.Tokens()).At(at))["order"] // [B, L, 2]
					rates := in.Network("denoiser", trainer.IDs(in.Tokens()).At(at))["insertion_rate"]
					missing := g.Sub(g.Slice(rates, 1, 0, 5), g.Squeeze(g.Slice(speeds, 2, 0, 1), 2)) // [B, L]
					return trainer.PerToken(g.RowSum(g.Mul(missing, missing)), in.FreeCount())
				}}, nil
		})
		reply, err := ordered.Build(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		s, err := artifact.Compose(artifact.Composition{Trainer: "ordered", Task: task, Reply: reply, Networks: map[string]artifact.Network{spec.Denoiser: denoiser, "order": order}, Rows: 2, EvalRows: 2, Length: 5})
		if err != nil {
			t.Fatal(err)
		}
		var got, all int
		for _, p := range s.Manifest.Parameters {
			switch {
			case strings.HasPrefix(p.Name, "denoiser."):
				all++
			case strings.HasPrefix(p.Name, "order."):
				got++
			default:
				t.Errorf("parameter %s is nobody's", p.Name)
			}
		}
		if got != own || all != len(network.Params(c)) {
			t.Errorf("shared with %q: %d parameters of the order network and %d of the denoiser, want %d and %d", share, got, all, own, len(network.Params(c)))
		}
	}
}
