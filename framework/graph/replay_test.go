package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreign is a model with a function of its own: Leak halves with another function and has an attribute with a default.
func foreign() *Model {
	m := checked()
	m.Graph.Nodes, m.Graph.Outputs = m.Graph.Nodes[:2], []*ValueInfo{{Name: "z"}}
	m.Graph.Inputs = []*ValueInfo{{Name: "x", Type: Float32, HasRank: true, Shape: Dims("N", 2)}}
	return m
}

// TestReplayOfFunctions infers through a foreign function and carries it over.
func TestReplayOfFunctions(t *testing.T) {
	for _, slope := range []bool{true, false} {
		source := foreign()
		want := []float64{-0.5, 4}
		if !slope { // the default, 0.1
			source.Graph.Nodes[1].Attributes = nil
			want[0] = -0.1
		}
		b := NewBuilder("replayed", 20)
		x := b.Input("in", Float32, Dims("B", 2)...)
		out := b.Replay(source, map[string]Value{"x": x}, nil)["z"]
		m, err := b.Model(Output{"out", out})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff("Leak float32[B, 2]", out.String()); d != "" {
			t.Error(d)
		}
		if len(m.Functions) != 2 || m.Opset("own") != 1 {
			t.Error(m.Functions, m.Opsets)
		}
		got := doubles(t, runModel(t, optimised, m, tensor(Float32, []int64{1, 2}, []float64{-1, 2}))[0])
		for i := range want {
			if d := got[i] - want[i]; d > 1e-6 || d < -1e-6 {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
}

// TestReplayKeeps: names of initializers, optional outputs, default inputs and copies of two replays.
func TestReplayKeeps(t *testing.T) {
	m := &Model{IRVersion: 8, Opsets: []Opset{{"ai.onnx", 17}}, Graph: &Graph{Name: "g",
		Inputs:       []*ValueInfo{{Name: "x", Type: Float32, HasRank: true, Shape: Dims("N", 4)}, {Name: "w", Type: Float32}},
		Initializers: []*Tensor{OfFloats("w", []int64{4}, make([]float32, 4)), OfFloats("same", []int64{4}, make([]float32, 4))},
		Nodes: []*Node{
			{Name: "norm", Op: "LayerNormalization", Domain: "ai.onnx", Inputs: []string{"x", "w", "same"}, Outputs: []string{"y", "", "inv"}},
			{Name: "top", Op: "TopK", Inputs: []string{"y", "k"}, Outputs: []string{"best", "at"}},
		},
		Outputs: []*ValueInfo{{Name: "inv"}, {Name: "at"}},
	}}
	m.Graph.Nodes = append([]*Node{{Name: "k", Op: "Constant", Outputs: []string{"k"}, Attributes: []*Attribute{TensorValue("value", &Tensor{Type: Int64, Dims: []int64{1}, Int64s: []byte{2}})}}}, m.Graph.Nodes...)
	b := NewBuilder("twice", 17)
	x := b.Input("x", Float32, Dims("N", 4)...)
	first := b.Replay(m, map[string]Value{"x": x}, nil)
	second := b.Replay(m, map[string]Value{"x": x}, nil)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	var names []string
	for _, i := range b.Initializers() {
		names = append(names, i.Name)
	}
	if d := cmp.Diff([]string{"constant", "w", "same", "w_copy", "same_copy"}, names); d != "" {
		t.Error(d)
	}
	got, err := b.Model(Output{"a", first["inv"]}, Output{"b", second["inv"]}, Output{"c", first["at"]})
	if err != nil {
		t.Fatal(err)
	}
	if first["at"].String() != "TopK.1 int64[N, 2]" || len(got.Graph.Nodes) != 3 {
		t.Error(first["at"], len(got.Graph.Nodes))
	}
	runModel(t, optimised, got, tensor(Float32, []int64{1, 4}, []float64{1, 2, 3, 4}))
}

// TestReplayFolds: shapes that a graph computes from dimensions become numbers where the dimensions are numbers.
func TestReplayFolds(t *testing.T) {
	source := NewBuilder("source", 20)
	x := source.Input("x", Float32, Dims("B", "L", 6)...)
	n := source.Gather(source.Shape(x), source.Ints(0), 0)
	y := source.ReshapeTo(x, source.Concat(0, source.Mul(n, source.Ints(2)), source.Ints(-1)))
	m, err := source.Model(Output{"y", y})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder("fixed", 20)
	out := b.Replay(m, map[string]Value{"x": b.Input("x", Float32, Dims(3, 5, 6)...)}, nil)["y"]
	fixed, err := b.Model(Output{"y", out})
	if err != nil {
		t.Fatal(err)
	}
	if len(fixed.Graph.Nodes) != 1 || shapeText(out.Shape()) != "[6, 15]" {
		t.Error(len(fixed.Graph.Nodes), out)
	}
}

func TestReplayMistakes(t *testing.T) {
	for want, spoil := range map[string]func(m *Model) *Model{
		"has no graph": func(*Model) *Model { return &Model{} },
		`model g: the value "q" is neither an input that was given nor written by a node before; bind it`: func(m *Model) *Model {
			m.Graph.Nodes[0].Inputs[0] = "q"
			return m
		},
		`node "mul" of model g: Mul(x float32[3], w float32[2]): shapes [3] and [2] do not fit`: func(m *Model) *Model { return m },
		`node "mul" of model g: operator If holds a graph of its own`: func(m *Model) *Model {
			m.Graph.Nodes[0].Attributes = checked().Graph.Nodes[3].Attributes
			m.Graph.Nodes[0].Op = "If"
			return m
		},
		`node "mul" of model g: Resize(x float32[3], w float32[2]): operator Resize is not supported`: func(m *Model) *Model {
			m.Graph.Nodes[0].Op = "Resize"
			return m
		},
		`function own.Leak: node "half": own.Half: function own.Half: node "add": MatMul: 1 input given`: func(m *Model) *Model {
			m.Graph.Initializers[0] = OfFloats("w", nil, []float32{2})
			m.Functions[1].Nodes[0].Op = "MatMul"
			return m
		},
		"calls too many others; expected functions that do not call themselves": func(m *Model) *Model {
			m.Graph.Initializers[0] = OfFloats("w", nil, []float32{2})
			m.Functions[1].Nodes[0].Op, m.Functions[1].Nodes[0].Domain = "Leak", "own"
			return m
		},
	} {
		b := NewBuilder("b", 20)
		x := b.Input("x", Float32, Known(3))
		b.Replay(spoil(foreign()), map[string]Value{"x": x}, nil)
		if b.Err() == nil || !strings.Contains(b.Err().Error(), want) {
			t.Errorf("got %v\nwant %s", b.Err(), want)
		}
	}
}
