package trainer

import (
	"slices"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// How the rows of a batch share their times; see package diffusion.
const (
	IID          = diffusion.IID
	SharedOffset = diffusion.SharedOffset
	Stratified   = diffusion.Stratified
)

// Inputs hands out what a graph reads. Each method declares an input at its first call; the host fills it in every step.
// The same call gives the same numbers.
type Inputs struct{ *inputs }

type inputs struct {
	g        *graph.Builder
	task     *spec.Task
	spec     *spec.Spec             // of both graphs
	values   map[string]graph.Value // of this graph, by name
	suppress graph.Value
}

func newInputs(g *graph.Builder, task *spec.Task, s *spec.Spec) Inputs {
	for _, n := range s.Networks {
		g.DeclareNetwork(n.Name, n.Signature)
	}
	return Inputs{&inputs{g: g, task: task, spec: s, values: map[string]graph.Value{}}}
}

// Task is what the host told the trainer. It must not be changed.
func (in Inputs) Task() *spec.Task { return in.task }

// V is the width of the denoiser's logits.
func (in Inputs) V() int { return in.task.V }

// Tokens are the clean rows, int64 [B, L], padded at the end.
func (in Inputs) Tokens() graph.Value { in.g.Helper(); return in.data(spec.Tokens) }

// Lengths counts the real tokens of each row, int64 [B].
func (in Inputs) Lengths() graph.Value { in.g.Helper(); return in.data(spec.Lengths) }

// AttentionMask is 1 at real tokens and 0 at padding, int64 [B, L].
func (in Inputs) AttentionMask() graph.Value { in.g.Helper(); return in.data(spec.AttentionMask) }

// Fixed tells which positions are given, such as a prompt: they are never masked nor scored. bool [B, L].
func (in Inputs) Fixed() graph.Value { in.g.Helper(); return in.data(spec.Fixed) }

// Free tells which positions are masked and scored: real and not fixed. bool [B, L].
func (in Inputs) Free() graph.Value { in.g.Helper(); return in.data(spec.Free) }

// FreeCount counts the free positions of each row, float32 [B].
func (in Inputs) FreeCount() graph.Value {
	in.g.Helper()
	return in.g.RowSum(in.g.Cast(in.Free(), graph.Float32))
}

// MaskID is the token that stands for a masked one, an int64 scalar.
func (in Inputs) MaskID() graph.Value { in.g.Helper(); return in.g.Int(in.task.MaskID) }

// Rank is a random permutation of 0, 1, ... over the free positions of each row, int64 [B, L]; [spec.Unranked], a large
// number, elsewhere.
func (in Inputs) Rank() graph.Value { in.g.Helper(); return in.data(spec.Rank) }

// Time is one time a row, float32 [B, 1], inside (0, 1) and clamped to [eps, 1-eps].
func (in Inputs) Time(sampler diffusion.TimeSampler, eps float64) graph.Value {
	in.g.Helper()
	want := spec.Input{Kind: spec.Time, Sampler: sampler, Eps: eps, Shape: []graph.Dim{in.task.RowsDim(), graph.Known(1)}}
	for n := 1; ; n++ {
		if want.Name = "time"; n > 1 {
			want.Name += strconv.Itoa(n) // the evaluation may draw its times another way
		}
		if was := in.find(want.Name); was == nil || same(was, &want) {
			return in.declare(want)
		}
	}
}

// Uniform is noise inside (0, 1), float32, under a name of the author's. Dimensions are "B" (the first), "L" and small numbers.
func (in Inputs) Uniform(name string, dims ...any) graph.Value {
	in.g.Helper()
	shape := make([]graph.Dim, len(dims))
	for i, d := range dims {
		switch d := d.(type) {
		case int:
			shape[i] = graph.Known(int64(d))
		case string:
			switch d {
			case "B":
				shape[i] = in.task.RowsDim()
			case "L":
				shape[i] = in.task.LengthDim()
			default:
				return in.g.Fail("uniform %q: dimension %q; expected \"B\", \"L\" or a number", name, d)
			}
		default:
			return in.g.Fail("uniform %q: dimension %v; expected \"B\", \"L\" or a number", name, d)
		}
	}
	return in.declare(spec.Input{Name: name, Kind: spec.Uniform, Shape: shape})
}

// Scalar is a number of the step, float32 []: "progress", the part of the run that is done, or "step".
func (in Inputs) Scalar(name string) graph.Value {
	in.g.Helper()
	if k := spec.Kind(name); k == spec.Progress || k == spec.Step {
		return in.data(k)
	}
	return in.g.Fail("scalar %q: there is none of this name; expected %q or %q", name, spec.Progress, spec.Step)
}

// Param is a parameter that the definition declares.
func (in Inputs) Param(name string) graph.Value {
	in.g.Helper()
	if v, ok := in.values[name]; ok {
		return v
	}
	i := slices.IndexFunc(in.spec.Params, func(p spec.Param) bool { return p.Name == name })
	if i < 0 {
		return in.g.Fail("parameter %q: the definition declares none of this name", name)
	}
	var shape []graph.Dim
	for _, d := range in.spec.Params[i].Shape {
		shape = append(shape, graph.Known(d))
	}
	in.values[name] = in.g.Input(name, graph.Float32, shape...)
	return in.values[name]
}

// data declares an input that is named as its kind.
func (in Inputs) data(kind spec.Kind) graph.Value {
	in.g.Helper()
	shape, _ := kind.Shape(in.task)
	return in.declare(spec.Input{Name: string(kind), Kind: kind, Shape: shape})
}

// declare adds an input to the spec and to this graph.
func (in Inputs) declare(want spec.Input) graph.Value {
	in.g.Helper()
	if was := in.find(want.Name); was == nil {
		in.spec.Inputs = append(in.spec.Inputs, want)
	} else if !same(was, &want) {
		return in.g.Fail("input %q of kind %s: the name stands for another input of kind %s already; expected one name for each", want.Name, want.Kind, was.Kind)
	}
	if v, ok := in.values[want.Name]; ok {
		return v
	}
	in.values[want.Name] = in.g.Input(want.Name, want.Kind.Type(), want.Shape...)
	return in.values[want.Name]
}

func (in Inputs) find(name string) *spec.Input {
	i := slices.IndexFunc(in.spec.Inputs, func(have spec.Input) bool { return have.Name == name })
	if i < 0 {
		return nil
	}
	return &in.spec.Inputs[i]
}

func same(a, b *spec.Input) bool {
	return a.Kind == b.Kind && a.Sampler == b.Sampler && a.Eps == b.Eps && slices.Equal(a.Shape, b.Shape)
}
