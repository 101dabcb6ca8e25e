package onnx_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// must returns the value of a call that must not fail.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func device(t testing.TB, o onnx.Options) *onnx.Device {
	t.Helper()
	d := must[*onnx.Device](t)(onnx.OpenDevice(t.Context(), o))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func floats(name string, dims ...graph.Dim) *graph.ValueInfo {
	return tensor(name, graph.Float32, dims...)
}

func node(op string, in, out []string, a ...*graph.Attribute) *graph.Node {
	return &graph.Node{Op: op, Inputs: in, Outputs: out, Attributes: a}
}

// model encodes a graph of opset 20.
func model(name string, nodes []*graph.Node, in, out []*graph.ValueInfo, init ...*graph.Tensor) onnx.Model {
	m := graph.Model{IRVersion: 9, Opsets: []graph.Opset{{Version: 20}, {Domain: "mdm", Version: 1}},
		Graph: &graph.Graph{Name: name, Nodes: nodes, Inputs: in, Outputs: out, Initializers: init}}
	return onnx.Model{Name: name, Data: m.Encode()}
}

var n = graph.Named("n")

// accumulate is x' = x + sum over rows of batch [b, n], and total = sum of x'.
func accumulate() onnx.Model {
	return model("accumulate", []*graph.Node{
		node("ReduceSum", []string{"batch", "rows"}, []string{"sum"}, graph.Int("keepdims", 0)),
		node("Add", []string{"x", "sum"}, []string{"next"}),
		node("ReduceSum", []string{"next"}, []string{"total"}, graph.Int("keepdims", 0)),
	}, []*graph.ValueInfo{floats("x", n), floats("batch", graph.Named("b"), n)}, []*graph.ValueInfo{floats("next", n), floats("total")},
		graph.OfInts("rows", []int64{1}, []int64{0}))
}

func bindAccumulate(x *onnx.State) onnx.ProgramOptions {
	return onnx.ProgramOptions{States: []onnx.StateBinding{{Input: "x", Output: "next", State: x}}, Outputs: []string{"total"}, Dims: map[string]int64{"b": 2}}
}

func readFloats(t testing.TB, s *onnx.State) []float32 {
	t.Helper()
	out := make([]float32, s.Bytes()/4)
	if err := s.ReadFloats(out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStateStaysBetweenRuns(t *testing.T) {
	d := device(t, onnx.Options{})
	x := must[*onnx.State](t)(d.NewState("x", graph.Float32, 3))
	if diff := cmp.Diff([]float32{0, 0, 0}, readFloats(t, x)); diff != "" {
		t.Error("a new state is not zeros:", diff)
	}
	if err := x.WriteFloats([]float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), accumulate(), bindAccumulate(x)))
	// Two feeds by turns.
	feeds := []*onnx.Feed{must[*onnx.Feed](t)(p.NewFeed()), must[*onnx.Feed](t)(p.NewFeed())}
	for i, f := range feeds {
		copy(must[[]float32](t)(f.Float32("batch")), []float32{1, 0, float32(i), 0, 0.5, 0})
	}
	for i := range 100 {
		if err := p.Run(t.Context(), feeds[i%2]); err != nil {
			t.Fatal(err)
		}
		total := must[[]float32](t)(p.Output("total"))
		if want := 6 + 1.5*float32(i+1) + float32((i+1)/2); len(total) != 1 || total[0] != want {
			t.Fatalf("run %d: total %v, want %g", i, total, want)
		}
	}
	if diff := cmp.Diff([]float32{101, 52, 53}, readFloats(t, x)); diff != "" {
		t.Error(diff)
	}
}

// A training program leaves gradients to an optimiser program; both use the parameters, and a third reads them.
func TestProgramsShareStates(t *testing.T) {
	d := device(t, onnx.Options{Threads: 1})
	w := must[*onnx.State](t)(d.NewState("w", graph.Float32, 2))
	g := must[*onnx.State](t)(d.NewTransient("g", graph.Float32, 2))
	average := must[*onnx.State](t)(d.NewState("average", graph.Float32, 2))
	new := func(m onnx.Model, o onnx.ProgramOptions) *onnx.Program {
		t.Helper()
		return must[*onnx.Program](t)(d.NewProgram(t.Context(), m, o))
	}
	// loss = (w - 3)^2 / 2, its gradient w - 3
	train := new(model("train", []*graph.Node{node("Sub", []string{"w", "three"}, []string{"g"})}, []*graph.ValueInfo{floats("w", n)}, []*graph.ValueInfo{floats("g", n)}, graph.OfFloats("three", nil, []float32{3})),
		onnx.ProgramOptions{States: []onnx.StateBinding{{Input: "w", State: w}, {Output: "g", State: g}}})
	step := new(model("step", []*graph.Node{node("Mul", []string{"g", "lr"}, []string{"s"}), node("Sub", []string{"w", "s"}, []string{"w2"})},
		[]*graph.ValueInfo{floats("w", n), floats("g", n), floats("lr")}, []*graph.ValueInfo{floats("w2", n)}),
		onnx.ProgramOptions{States: []onnx.StateBinding{{Input: "w", State: w}, {Output: "w2", State: w}, {Input: "g", State: g}}})
	eval := new(model("eval", []*graph.Node{node("Identity", []string{"w"}, []string{"out"})}, []*graph.ValueInfo{floats("w", n)}, []*graph.ValueInfo{floats("out", n)}),
		onnx.ProgramOptions{States: []onnx.StateBinding{{Input: "w", State: w}}, Outputs: []string{"out"}})
	feed := must[*onnx.Feed](t)(step.NewFeed())
	must[[]float32](t)(feed.Float32("lr"))[0] = 0.5
	run := func(p *onnx.Program, f *onnx.Feed) {
		t.Helper()
		if err := p.Run(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
	want := float32(0)
	for range 5 {
		run(train, nil)
		run(step, feed)
		run(eval, nil)
		want -= (want - 3) / 2
		if diff := cmp.Diff([]float32{want, want}, must[[]float32](t)(eval.Output("out"))); diff != "" {
			t.Error(diff)
		}
	}
	if err := average.WriteFloats([]float32{7, 8}); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]float32{{7, 8}, {want, want}} { // there and back
		if err := w.Swap(average); err != nil {
			t.Fatal(err)
		}
		run(eval, nil)
		if diff := cmp.Diff(want, must[[]float32](t)(eval.Output("out"))); diff != "" {
			t.Error(diff)
		}
	}
	contains(t, fmt.Sprint(w.Swap(g)), "state w float32 [2]: cannot be swapped with g float32 [2]")
}

func TestFeedsOfAllTypes(t *testing.T) {
	d := device(t, onnx.Options{})
	types := []graph.Type{graph.Float32, graph.Float64, graph.Int64, graph.Int32, graph.Uint8, graph.Bool}
	var nodes []*graph.Node
	var in, out []*graph.ValueInfo
	var outputs []string
	for _, typ := range types {
		name := typ.String()
		in, out, outputs = append(in, tensor(name, typ, graph.Named("b"), graph.Known(2))), append(out, floats("of "+name, graph.Named("2*b"))), append(outputs, "of "+name)
		nodes = append(nodes, node("Cast", []string{name}, []string{"wide " + name}, graph.Int("to", 1)), node("Reshape", []string{"wide " + name, "flat"}, []string{"of " + name}))
	}
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), model("types", nodes, in, out, graph.OfInts("flat", []int64{1}, []int64{-1})),
		onnx.ProgramOptions{Outputs: outputs, Dims: map[string]int64{"b": 2, "unused": 5}}))
	f := must[*onnx.Feed](t)(p.NewFeed())
	must[[]float32](t)(f.Float32("float32"))[3] = 1
	must[[]float64](t)(f.Float64("float64"))[3] = 1
	must[[]int64](t)(f.Int64("int64"))[3] = 1
	must[[]int32](t)(f.Int32("int32"))[3] = 1
	must[[]uint8](t)(f.Uint8("uint8"))[3] = 1
	must[[]bool](t)(f.Bool("bool"))[3] = true
	if err := p.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	for _, name := range outputs {
		if diff := cmp.Diff([]float32{0, 0, 0, 1}, must[[]float32](t)(p.Output(name))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	d := device(t, onnx.Options{Threads: 1})
	x := must[*onnx.State](t)(d.NewState("x", graph.Float32, 3))
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), accumulate(), bindAccumulate(x)))
	f := must[*onnx.Feed](t)(p.NewFeed())
	if got := testing.AllocsPerRun(50, func() {
		if err := p.Run(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("%g allocations a run, want none", got)
	}
}

func TestProgramFromFile(t *testing.T) {
	dir := t.TempDir()
	weights := graph.OfFloats("w", []int64{2}, []float32{3, 4})
	raw := weights.Raw
	weights.Raw, weights.External = nil, []graph.Entry{{Key: "location", Value: "w.bin"}}
	m := model("", []*graph.Node{node("Add", []string{"x", "w"}, []string{"y"})}, []*graph.ValueInfo{floats("x", n)}, []*graph.ValueInfo{floats("y", n)}, weights)
	for name, b := range map[string][]byte{"w.bin": raw, "m.onnx": m.Data} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := device(t, onnx.Options{})
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), onnx.Model{Path: filepath.Join(dir, "m.onnx")}, onnx.ProgramOptions{Outputs: []string{"y"}, Dims: map[string]int64{"n": 2}}))
	if err := p.Run(t.Context(), must[*onnx.Feed](t)(p.NewFeed())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{3, 4}, must[[]float32](t)(p.Output("y"))); diff != "" {
		t.Error(diff)
	}
	if d.Provider() != "cpu" || d.Version() != onnx.Version || len(d.Notes()) != 0 {
		t.Error(d.Provider(), d.Version(), d.Notes())
	}
}

// An automatic choice of a library without CUDA is the CPU, and says so.
func TestDeviceFallsBack(t *testing.T) {
	d := device(t, onnx.Options{Provider: "auto"})
	if d.Provider() == "cpu" {
		contains(t, strings.Join(d.Notes(), "\n"), "provider auto: runs on the CPU, because CUDA cannot be had")
		_, err := onnx.OpenDevice(t.Context(), onnx.Options{Provider: "cuda"})
		contains(t, fmt.Sprint(err), "provider cuda", "mdmhost runtime check")
	}
}
