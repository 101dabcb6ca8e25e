package autodiff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/autodiff/internal/run"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// evaluate runs a graph for some of its values.
func evaluate(t interface{ Fatal(...any) }, b *graph.Builder, feeds map[string]*graph.Tensor, threads, times int, values ...graph.Value) [][]float32 {
	outputs := make([]graph.Output, len(values))
	for i, v := range values {
		outputs[i] = graph.Output{Name: fmt.Sprint("value ", i), Value: v}
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := run.Open(m, threads)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out [][]float32
	for range times {
		got, err := s.Run(feeds)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values {
			out = append(out, floats(got[outputs[i].Name].Raw))
		}
	}
	return out
}

func vector(b *graph.Builder, name string, n int64) graph.Value {
	return b.Input(name, graph.Float32, graph.Known(n))
}

// Gradients add up over all uses, flow through values that are themselves asked for, stop where they must, and are zeros where
// nothing arrives.
func TestFlow(t *testing.T) {
	b := graph.NewBuilder("flow", 20)
	x, y, unused := vector(b, "x", 2), vector(b, "y", 2), vector(b, "unused", 3)
	m := b.Mul(x, x)
	sum := b.Add(b.Mul(m, y), b.Add(x, b.Mul(b.StopGradient(x), b.Floor(y)))) // x^2 y + x + stop(x) floor(y)
	loss := b.ReduceSum(sum, false)
	grads, err := autodiff.Gradients(b, loss, []graph.Value{x, y, m, unused, loss, x}, autodiff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	feeds := map[string]*graph.Tensor{"x": graph.OfFloats("", []int64{2}, []float32{3, -2}), "y": graph.OfFloats("", []int64{2}, []float32{5, 7}),
		"unused": graph.OfFloats("", []int64{3}, make([]float32, 3))}
	got := evaluate(t, b, feeds, 1, 1, grads...)
	want := "[[31 -27] [9 4] [5 7] [0 0 0] [1] [31 -27]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// What has no rule says which node it is, and what to do.
func TestErrors(t *testing.T) {
	cases := map[string]struct {
		write func(b *graph.Builder, x graph.Value) graph.Value
		want  string
	}{
		"no rule": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("Mod", []*graph.Attribute{graph.Int("fmod", 1)}, x, b.Float(2))
		}, "node Mod (Mod): this operator has no gradient rule"},
		"no such input": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("Dropout", nil, b.Float(1), b.ReduceSum(x, false))
		}, "node Dropout (Dropout): its input 1"},
		"mode": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("Pad", []*graph.Attribute{graph.String("mode", "reflect")}, x, b.Ints(1, 1))
		}, "node Pad (Pad): padding in mode \"reflect\""},
		"randomness": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("Dropout", nil, x, b.Float(0.5), b.Input("training", graph.Bool))
		}, "evaluation mode"},
		"network": {func(b *graph.Builder, x graph.Value) graph.Value {
			port := []graph.Port{{Name: "a", Type: graph.Float32, Shape: graph.Dims(4)}}
			b.DeclareNetwork("net", graph.Signature{Inputs: port, Outputs: []graph.Port{{Name: "b", Type: graph.Float32, Shape: graph.Dims(4)}}})
			return b.Network("net", map[string]graph.Value{"a": x})["b"]
		}, "expand it"},
		"scatter": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("ScatterElements", []*graph.Attribute{graph.String("reduction", "mul")}, x, b.Ints(1), b.Floats([]int64{1}, []float32{2}))
		}, "reduction \"mul\""},
		"diagonal": {func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Op("Einsum", []*graph.Attribute{graph.String("equation", "ii->i")}, b.Reshape(x, graph.Dims(2, 2)...))
		}, "diagonal"},
	}
	for name, c := range cases {
		b := graph.NewBuilder("errors", 20)
		x := vector(b, "x", 4)
		loss := b.ReduceSum(c.write(b, x), false)
		if err := b.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := autodiff.Gradients(b, loss, []graph.Value{x}, autodiff.Options{}); err == nil || !strings.Contains(err.Error(), c.want) || b.Err() != nil {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	b := graph.NewBuilder("errors", 20)
	x, ids := vector(b, "x", 4), b.Input("ids", graph.Int64)
	if _, err := autodiff.Gradients(b, x, []graph.Value{x}, autodiff.Options{}); err == nil || !strings.Contains(err.Error(), "reduce it") {
		t.Error("a vector is no loss:", err)
	}
	if _, err := autodiff.Gradients(b, b.ReduceSum(x, false), []graph.Value{ids}, autodiff.Options{}); err == nil || !strings.Contains(err.Error(), "expected a float value") {
		t.Error("integers have no gradient:", err)
	}
}
