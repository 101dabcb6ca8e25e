package trainer_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

func task(takesTime bool) spec.Task {
	t := spec.Task{V: 7, MaskID: 6, PadID: -1, Suppressed: []int64{6}, Opset: 20, Denoiser: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("batch", "length")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float16, Shape: graph.Dims("batch", "length", 7)}},
	}}
	if takesTime {
		t.Denoiser.Inputs = append(t.Denoiser.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("batch")},
			graph.Port{Name: "attention_mask", Type: graph.Int64, Shape: graph.Dims("batch", "length")})
	}
	return t
}

// sketch is MD4 with the linear schedule, as the design has it.
func sketch(g *graph.Builder, in trainer.Inputs) trainer.Loss {
	t := in.Time(trainer.SharedOffset, 1e-4)                         // [B, 1]
	masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L]
	out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())).At(t))
	nll := g.CrossEntropy(out["logits"], in.Tokens()) // [B, L], nats
	return trainer.PerRow(g.RowSum(g.Div(g.Keep(masked, nll), t)))
}

func TestTheSketchIsAWholeTrainer(t *testing.T) {
	for _, takesTime := range []bool{false, true} {
		given := task(takesTime)
		reply, err := trainer.Build("md4-linear", given, trainer.Definition{Loss: sketch})
		if err != nil {
			t.Fatal(err)
		}
		if err := spec.Check(&given, reply); err != nil {
			t.Fatal(err)
		}
		m, err := graph.Decode(reply.Training)
		if err != nil {
			t.Fatal(err)
		}
		var called []string
		for _, n := range m.Graph.Nodes {
			if graph.Key(n) == "mdm.Network" {
				for _, name := range n.Attribute("inputs").Strings {
					called = append(called, string(name))
				}
			}
		}
		want := []string{"input_ids"}
		if takesTime {
			want = append(want, "timesteps", "attention_mask")
		}
		if diff := cmp.Diff(want, called); diff != "" {
			t.Errorf("the denoiser is called with other inputs: %s", diff)
		}
	}
}

func TestFixedSizesStandInTheGraph(t *testing.T) {
	given := task(false)
	given.Rows, given.Length = 4, 9
	reply, err := trainer.Build("md4-linear", given, trainer.Definition{Loss: sketch})
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Check(&given, reply); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(graph.Dims(4, 9), reply.Spec.Inputs[2].Shape); diff != "" {
		t.Error(diff)
	}
}

// TestMistakesAreToldAtTheAuthorsLine makes one mistake in each function, in the line after the one that it notes.
func TestMistakesAreToldAtTheAuthorsLine(t *testing.T) {
	line := 0
	here := func() {
		_, _, line, _ = runtime.Caller(1)
		line++
	}
	for want, loss := range map[string]trainer.Func{
		"Less(u float32[B, L], tokens int64[B, L]): ": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			tokens, u := in.Tokens(), in.Uniform("u", "B", "L")
			here()
			masked := g.Less(u, tokens)
			return trainer.PerRow(g.RowSum(g.Cast(masked, graph.Float32)))
		},
		`network "teacher" is not declared; the declared ones are ["denoiser"]`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			ids := in.Tokens()
			here()
			return trainer.PerRow(in.Network("teacher", trainer.IDs(ids))["logits"])
		},
		"mdm.Network(time float32[B, 1], Squeeze float32[B], time float32[B, 1]): ": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			t := in.Time(trainer.IID, 0)
			here()
			return trainer.PerRow(in.Network("denoiser", trainer.IDs(t).At(t).With("attention_mask", t))["logits"])
		},
		`network "denoiser" takes timesteps; give the time, as in trainer.IDs(ids).At(t)`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			here()
			return trainer.PerRow(in.Network("denoiser", trainer.IDs(in.Tokens()))["logits"])
		},
		`uniform "u": dimension "V"; expected "B", "L" or a number`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			here()
			return trainer.PerRow(in.Uniform("u", "B", "V"))
		},
		`input "tokens" of kind uniform: the name stands for another input of kind tokens already`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			in.Tokens()
			here()
			return trainer.PerRow(in.Uniform("tokens", "B"))
		},
		`scalar "epoch": there is none of this name; expected "progress" or "step"`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			here()
			return trainer.Scalar(in.Scalar("epoch"))
		},
		`parameter "w": the definition declares none of this name`: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			here()
			return trainer.Scalar(in.Param("w"))
		},
		"PerRow: u float32[B, L]; expected float32 [B], one number a row": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			u := in.Uniform("u", "B", "L")
			here()
			return trainer.PerRow(u)
		},
		"Scalar: u float32[B]; expected float32 [], a scalar": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			u := in.Uniform("u", "B")
			here()
			return trainer.Scalar(u)
		},
		"Metric hits: free bool[B, L]; expected float32 [B], one number a row": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			u, free := in.Uniform("u", "B"), in.Free()
			here()
			return trainer.PerRow(u).Metric("hits", free, u)
		},
		"Metric hits: ReduceSum float32[]; expected float32 [B], one number a row": func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			u := in.Uniform("u", "B")
			total := g.ReduceSum(u, false)
			here()
			return trainer.PerRow(u).Metric("hits", u, total)
		},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := trainer.Build("bad", task(true), trainer.Definition{Loss: loss})
			prefix := fmt.Sprintf("graph bad: trainer_test.go:%d: ", line)
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.HasPrefix(strings.TrimPrefix(err.Error(), prefix), want) {
				t.Errorf("error\n%v\nwant\n%s%s", err, prefix, want)
			}
		})
	}
}

func TestTheZeroLossIsRefused(t *testing.T) {
	_, err := trainer.Build("bad", task(false), trainer.Definition{Loss: func(*graph.Builder, trainer.Inputs) trainer.Loss { return trainer.Loss{} }})
	if err == nil || !strings.Contains(err.Error(), "the loss is the zero value; expected trainer.PerRow, PerToken or Scalar") {
		t.Error(err)
	}
}

// TestParametersNetworksAndGroups defines a trainer with all of them.
func TestParametersNetworksAndGroups(t *testing.T) {
	given := task(false)
	critic := graph.Signature{Inputs: given.Denoiser.Inputs, Outputs: []graph.Port{{Name: "score", Type: graph.Float32, Shape: graph.Dims("batch", "length")}}}
	reply, err := trainer.Build("whole", given, trainer.Definition{
		Networks: []spec.Network{{Name: "critic", Signature: critic, Init: spec.Fresh}, {Name: "denoiser", Frozen: true}},
		Params:   []spec.Param{{Name: "w", Shape: []int64{7}}},
		Groups:   []spec.Group{{Match: "w", LR: 10}},
		Bound:    spec.Estimate,
		Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			score := in.Network("critic", trainer.IDs(in.Tokens()))["score"] // [B, L]
			logits := in.Network("denoiser", trainer.IDs(in.Tokens()))["logits"]
			nll := g.CrossEntropy(g.Mul(logits, in.Param("w")), in.Tokens())
			return trainer.PerToken(g.RowSum(g.Keep(in.Free(), g.Mul(score, g.StopGradient(nll)))), in.FreeCount())
		},
		Eval: func(g *graph.Builder, in trainer.Inputs) trainer.Bound {
			n := in.FreeCount()
			return trainer.RowBound(g.Mul(n, g.ReduceMean(in.Param("w"), false)), n).Metric("size", n, n)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Check(&given, reply); err != nil {
		t.Fatal(err)
	}
	if n := reply.Spec.Networks; len(n) != 2 || n[0].Name != "denoiser" || !n[0].Frozen || n[1].Init != spec.Fresh {
		t.Errorf("networks %+v", n)
	}
}
