package spec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

func task() spec.Task {
	return spec.Task{V: 7, MaskID: 6, PadID: -1, Suppressed: []int64{6}, Opset: 20, Denoiser: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("batch", "length")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("batch", "length", 7)}},
	}}
}

// author is what a trainer without the kit writes; tests bend it.
type author struct {
	task     spec.Task
	reply    spec.Reply
	g        *graph.Builder
	tokens   graph.Value
	u        graph.Value
	training []graph.Output
	eval     []graph.Output
}

func sound(t testing.TB) *author {
	t.Helper()
	a := &author{task: task(), g: graph.NewBuilder("by hand", 20)}
	rows, length := a.task.RowsDim(), a.task.LengthDim()
	a.reply.Spec = spec.Spec{
		Networks: []spec.Network{{Name: "denoiser", Signature: a.task.Denoiser}},
		Inputs: []spec.Input{{Name: "x", Kind: spec.Tokens, Shape: []graph.Dim{rows, length}},
			{Name: "noise", Kind: spec.Uniform, Shape: []graph.Dim{rows, length}}},
		Params: []spec.Param{{Name: "scale", Shape: []int64{7}, Init: spec.Init{Value: 1}}},
		Groups: []spec.Group{{Match: "scale", LR: 1}},
		Bound:  spec.Bound,
	}
	a.g.DeclareNetwork("denoiser", a.task.Denoiser)
	a.tokens = a.g.Input("x", graph.Int64, rows, length)
	a.u = a.g.Input("noise", graph.Float32, rows, length)
	scale := a.g.Input("scale", graph.Float32, graph.Known(7))
	masked := a.g.Less(a.u, a.g.Float(0.5))
	ids := a.g.Select(masked, a.g.Int(6), a.tokens)
	logits := a.g.Network("denoiser", map[string]graph.Value{"input_ids": ids})["logits"]
	nll := a.g.CrossEntropy(a.g.Mul(logits, scale), a.tokens)
	row := a.g.RowSum(a.g.Keep(masked, nll))
	ones := a.g.RowSum(a.g.Cast(masked, graph.Float32))
	a.training = []graph.Output{{Name: "loss", Value: a.g.ReduceMean(row, false)}, {Name: "metric.ce.sum", Value: row}, {Name: "metric.ce.count", Value: ones}}
	a.eval = []graph.Output{{Name: "bound", Value: row}, {Name: "count", Value: ones}}
	return a
}

// check encodes what the author wrote and asks Check.
func (a *author) check(t testing.TB) error {
	t.Helper()
	for outputs, to := range map[*[]graph.Output]*[]byte{&a.training: &a.reply.Training, &a.eval: &a.reply.Eval} {
		if *to != nil {
			continue
		}
		m, err := a.g.Model(*outputs...)
		if err != nil {
			t.Fatal(err)
		}
		*to = m.Encode()
	}
	return spec.Check(&a.task, &a.reply)
}

func TestASoundReplyPasses(t *testing.T) {
	if err := sound(t).check(t); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAStrangerGetsWrong(t *testing.T) {
	for want, bend := range map[string]func(*author){
		`the networks are []; expected one named "denoiser", which is what gets trained or stays frozen`: func(a *author) { a.reply.Spec.Networks = nil },
		`network "denoiser": its signature is not the one that the task gives`: func(a *author) {
			a.reply.Spec.Networks[0].Signature.Outputs = []graph.Port{{Name: "logits"}}
		},
		`network "denoiser": the name is empty or taken`: func(a *author) {
			a.reply.Spec.Networks = append(a.reply.Spec.Networks, a.reply.Spec.Networks[0])
		},
		`network "critic": its signature has no inputs`: func(a *author) {
			a.reply.Spec.Networks = append(a.reply.Spec.Networks, spec.Network{Name: "critic"})
		},
		`network "critic" shares parameters with "critic"`: func(a *author) {
			a.reply.Spec.Networks = append(a.reply.Spec.Networks, spec.Network{Name: "critic", Signature: a.task.Denoiser, ShareWith: "critic"})
		},
		`network "critic" starts as "zeros"; expected nothing, "fresh" or another network of ["denoiser" "critic"]`: func(a *author) {
			a.reply.Spec.Networks = append(a.reply.Spec.Networks, spec.Network{Name: "critic", Signature: a.task.Denoiser, Init: "zeros"})
		},
		`input "x": its kind is "token"; expected one of tokens, lengths, `: func(a *author) { a.reply.Spec.Inputs[0].Kind = "token" },
		`input "x" of kind tokens: its shape is [B]; expected [B, L]`:       func(a *author) { a.reply.Spec.Inputs[0].Shape = graph.Dims("B") },
		`input "x": the name is taken`: func(a *author) {
			a.reply.Spec.Inputs = append(a.reply.Spec.Inputs, a.reply.Spec.Inputs[0])
		},
		`input "noise" of kind uniform: its shape is [B, L, 7000]; expected at most 64 numbers for a position`: func(a *author) {
			a.reply.Spec.Inputs[1].Shape = graph.Dims("B", "L", 7000)
		},
		`input "noise" of kind uniform: its shape is [L, B]; expected the batch B as its first`: func(a *author) {
			a.reply.Spec.Inputs[1].Shape = graph.Dims("L", "B")
		},
		`input "noise" of kind uniform: its shape is [B, V]; expected L or numbers`: func(a *author) {
			a.reply.Spec.Inputs[1].Shape = graph.Dims("B", "V")
		},
		`input "t": time sampler "antithetic": expected one of iid, shared_offset, stratified`: func(a *author) {
			a.reply.Spec.Inputs = append(a.reply.Spec.Inputs, spec.Input{Name: "t", Kind: spec.Time, Shape: graph.Dims("B"), Sampler: "antithetic"})
		},
		`input "t": eps is 0.5; expected 0 <= eps < 0.5`: func(a *author) {
			a.reply.Spec.Inputs = append(a.reply.Spec.Inputs, spec.Input{Name: "t", Kind: spec.Time, Shape: graph.Dims("B", 1), Sampler: diffusion.IID, Eps: 0.5})
		},
		`input "t" of kind time: its shape is [B, 2]; expected [B] or [B, 1]`: func(a *author) {
			a.reply.Spec.Inputs = append(a.reply.Spec.Inputs, spec.Input{Name: "t", Kind: spec.Time, Shape: graph.Dims("B", 2), Sampler: diffusion.IID})
		},
		`parameter "scale": its shape is [7 1099511627776]; expected`:     func(a *author) { a.reply.Spec.Params[0].Shape = []int64{7, 1 << 40} },
		`parameter "scale": its init is {Kind:xavier `:                    func(a *author) { a.reply.Spec.Params[0].Init.Kind = "xavier" },
		`parameter "x": the name is empty or taken`:                       func(a *author) { a.reply.Spec.Params[0].Name = "x" },
		`group "[": expected a pattern`:                                   func(a *author) { a.reply.Spec.Groups[0].Match = "[" },
		`group "scale": lr is -1 and decay 0`:                             func(a *author) { a.reply.Spec.Groups[0].LR = -1 },
		`the bound is of kind ""; expected bound, path_bound or estimate`: func(a *author) { a.reply.Spec.Bound = "" },
		`schedule.kind "linea"`:                                           func(a *author) { a.reply.Schedule.Kind = "linea" },
		`the schedule is per_token, and there is no parameter "raw"; expected one of shape [7], whose softplus are the exponents`: func(a *author) {
			a.reply.Schedule.Kind = "per_token"
		},
		`training graph: ONNX model: `:                                       func(a *author) { a.reply.Training = []byte("loss = nll.mean()") },
		`eval graph: the file holds no graph`:                                func(a *author) { a.reply.Eval = (&graph.Model{IRVersion: 9}).Encode() },
		`training graph: its opset is 20; expected 18`:                       func(a *author) { a.task.Opset = 18 },
		`training graph: it has no output "loss"; expected a float32 scalar`: func(a *author) { a.training = a.training[1:] },
		`training graph: output "loss" is float32 [B]; expected a float32 scalar: reduce it`: func(a *author) {
			a.training[0].Value = a.training[1].Value
		},
		`training graph: output "loss" is float64 []; expected a float32 scalar`: func(a *author) {
			a.training[0].Value = a.g.Cast(a.training[0].Value, graph.Float64)
		},
		`training graph: metric "ce": it has only one of sum and count; expected both`: func(a *author) { a.training = a.training[:2] },
		`training graph: output "extra": expected loss, or metrics named metric.NAME.sum`: func(a *author) {
			a.training = append(a.training, graph.Output{Name: "extra", Value: a.g.Identity(a.u)})
		},
		`training graph: metric "ce": its sum and count are float32 [B, L] and float32 [B]; expected float32 [B] both, or`: func(a *author) { a.training[1].Value = a.g.Identity(a.u) },
		`training graph: metric "ce": its sum and count are float32 [] and float32 [B]; expected float32 [B] both`: func(a *author) {
			a.training[1].Value = a.g.Identity(a.training[0].Value)
		},
		`eval graph: it has no output "bound"; expected float32 [B]`: func(a *author) { a.eval = a.eval[1:] },
		`eval graph: output "count" is float32 []; expected float32 [B], one number a row`: func(a *author) {
			a.eval[1].Value = a.training[0].Value
		},
		`training graph: input "noise" stands neither in the spec's inputs nor in its parameters`: func(a *author) {
			a.reply.Spec.Inputs = a.reply.Spec.Inputs[:1]
		},
		`training graph: input "x" is int64[B, L]; its kind is bool[B, L]`: func(a *author) { a.reply.Spec.Inputs[0].Kind = spec.Fixed },
		`training graph: node "Network_1" of model by hand: mdm.Network(x int64[B, L]): network "teacher" is not declared`: func(a *author) {
			a.g.DeclareNetwork("teacher", a.task.Denoiser)
			logits := a.g.Network("teacher", map[string]graph.Value{"input_ids": a.tokens})["logits"]
			a.training[0].Value = a.g.ReduceMean(logits, false)
		},
	} {
		t.Run(want, func(t *testing.T) {
			a := sound(t)
			bend(a)
			err := a.check(t)
			var e *sampling.Error
			if !errors.As(err, &e) || e.Code != sampling.ContractViolation {
				t.Fatalf("error %v, want a CONTRACT_VIOLATION", err)
			}
			if !strings.HasPrefix(e.Problem, want) {
				t.Errorf("error\n%s\nwant\n%s...", e.Problem, want)
			}
			if strings.Contains(e.Problem, ".go:") {
				t.Errorf("the error names a line of the host: %s", e.Problem)
			}
		})
	}
}

func TestGraphsBeyondTheCapAreRefused(t *testing.T) {
	a := sound(t)
	a.reply.Eval = make([]byte, spec.MaxGraphs+1)
	if err := a.check(t); err == nil || !strings.Contains(err.Error(), "expected at most 250 MiB: big tables belong into Params") {
		t.Error(err)
	}
}

func TestTasksThatNobodyCanWorkOn(t *testing.T) {
	good := task()
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, bend := range map[string]func(*spec.Task){
		"v":          func(t *spec.Task) { t.V = 0 },
		"pad":        func(t *spec.Task) { t.PadID = -2 },
		"unsorted":   func(t *spec.Task) { t.Suppressed = []int64{6, 1} },
		"twice":      func(t *spec.Task) { t.Suppressed = []int64{6, 6} },
		"outside":    func(t *spec.Task) { t.Suppressed = []int64{7} },
		"everything": func(t *spec.Task) { t.Suppressed = []int64{0, 1, 2, 3, 4, 5, 6} },
		"no logits":  func(t *spec.Task) { t.Denoiser.Outputs = nil },
		"no ids":     func(t *spec.Task) { t.Denoiser.Inputs = nil },
		"opset":      func(t *spec.Task) { t.Opset = 16 },
	} {
		bad := task()
		bend(&bad)
		var e *sampling.Error
		if err := bad.Check(); !errors.As(err, &e) || e.Code != sampling.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGroupsMatch(t *testing.T) {
	for pattern, names := range map[string][]string{
		"denoiser.*":      {"denoiser.layers/0/w", "denoiser.w"},
		"*.bias":          {"denoiser.layers.0.bias"},
		"denoiser.w":      {"denoiser.w"},
		"denoiser.layers": nil,
	} {
		var got []string
		for _, name := range []string{"denoiser.layers/0/w", "denoiser.layers.0.bias", "denoiser.w", "critic.w"} {
			if (&spec.Group{Match: pattern}).Matches(name) {
				got = append(got, name)
			}
		}
		if pattern == "denoiser.*" {
			names = append(names, "denoiser.layers.0.bias")
		}
		slices.Sort(names)
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("%s matches %q, want %q", pattern, got, names)
		}
	}
}

// FuzzCheck gives Check the bytes of a stranger: it must refuse or accept them, never panic.
func FuzzCheck(f *testing.F) {
	a := sound(f)
	if err := a.check(f); err != nil {
		f.Fatal(err)
	}
	f.Add(a.reply.Training)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		reply := a.reply
		reply.Training = file
		var e *sampling.Error
		if err := spec.Check(&a.task, &reply); err != nil && !errors.As(err, &e) {
			t.Fatalf("an error without a code: %v", err)
		}
	})
}
