package autodiff_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/autodiff/internal/run"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// sampled is a gradient of a golden file: its greatest magnitude and some of its entries.
type sampled struct {
	Norm   float64 // for people: entries and the largest say more
	Max    float64
	At     []int
	Values []float64
}

// batch is a batch with the loss of a model and the gradients by its parameters.
type batch struct {
	Name          string
	Rows, Length  int64
	InputIDs      []int64 `json:"input_ids"`
	AttentionMask []int64 `json:"attention_mask"`
	Targets       []int64
	Weights       []float32
	Timesteps     []float32
	Loss          float64
	Gradients     map[string]sampled
}

// forms are the ways of writing the backward pass.
var forms = map[string]autodiff.Options{"plain": {}, "kernels": {Kernels: true}, "recompute": {Recompute: true}, "fused": {Fused: true},
	"all": {Kernels: true, Recompute: true, Fused: true}}

// training is a graph under test: the inputs of a batch and the loss.
type training struct {
	*graph.Builder
	loss   graph.Value
	params map[string]graph.Value
	feeds  map[string]*graph.Tensor
}

// newTraining declares the inputs; logits writes the network.
func newTraining(g batch, opset int64, rows, length graph.Dim, norm float64, logits func(t *training, ids, mask graph.Value) graph.Value) *training {
	b := &training{Builder: graph.NewBuilder(g.Name, opset), params: map[string]graph.Value{}, feeds: map[string]*graph.Tensor{}}
	dims := []int64{g.Rows, g.Length}
	ints := func(name string, v []int64) graph.Value {
		b.feeds[name] = graph.OfInts(name, dims, v)
		return b.Input(name, graph.Int64, rows, length)
	}
	ids, mask, targets := ints("input_ids", g.InputIDs), ints("attention_mask", g.AttentionMask), ints("targets", g.Targets)
	weights := b.Input("weights", graph.Float32, rows, length)
	b.feeds["weights"] = graph.OfFloats("weights", dims, g.Weights)
	nll := b.CrossEntropy(logits(b, ids, mask), targets)
	b.loss = b.Div(b.ReduceSum(b.Mul(nll, weights), false), b.Float(norm))
	return b
}

// param declares a parameter as an input.
func (b *training) param(t *graph.Tensor) graph.Value {
	shape := make([]graph.Dim, len(t.Dims))
	for i, d := range t.Dims {
		shape[i] = graph.Known(d)
	}
	b.feeds[t.Name] = t
	b.params[t.Name] = b.Input(t.Name, t.Type, shape...)
	return b.params[t.Name]
}

// compare differentiates, runs with one and two threads, and returns the worst error of any parameter, relative to the greatest
// magnitude in its gradient. Gradients that are zero but for rounding, such as those of key biases, are held against a hundredth of the
// greatest of all.
func (b *training) compare(t *testing.T, g batch, o autodiff.Options) (worst float64) {
	t.Helper()
	names := slices.Sorted(maps.Keys(g.Gradients))
	greatest := 0.0
	for _, w := range g.Gradients {
		greatest = max(greatest, w.Max)
	}
	wrt := make([]graph.Value, len(names))
	for i, name := range names {
		wrt[i] = b.params[name]
	}
	grads, err := autodiff.Gradients(b.Builder, b.loss, wrt, o)
	if err != nil {
		t.Fatal(err)
	}
	outputs := []graph.Output{{Name: "loss", Value: b.loss}}
	for i, name := range names {
		outputs = append(outputs, graph.Output{Name: "gradient of " + name, Value: grads[i]})
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	for threads := 1; threads <= 2; threads++ {
		s, err := run.Open(m, threads)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := s.Run(b.feeds)
		if err != nil {
			t.Fatal(err)
		}
		if loss := float64(floats(got["loss"].Raw)[0]); !(math.Abs(loss-g.Loss) <= 1e-5*g.Loss) {
			t.Errorf("loss %g, want %g", loss, g.Loss)
		}
		for _, name := range names {
			want, d := g.Gradients[name], got["gradient of "+name]
			if fmt.Sprint(d.Dims) != fmt.Sprint(b.feeds[name].Dims) {
				t.Fatalf("%s: the gradient has shape %v, want %v", name, d.Dims, b.feeds[name].Dims)
			}
			all := floats(d.Raw)
			for i, at := range want.At {
				e := math.Abs(float64(all[at])-want.Values[i]) / max(want.Max, greatest/100)
				if !(e <= 1e-4) {
					t.Errorf("%s[%d]: gradient %g, want %g (greatest %g)", name, at, all[at], want.Values[i], want.Max)
				}
				worst = math.Max(worst, e)
			}
		}
	}
	return worst
}
