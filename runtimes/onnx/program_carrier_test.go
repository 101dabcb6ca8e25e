package onnx

import (
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// States on a device are copied by a session. Here its memory is the runtime's own on the CPU, which takes the same way.
func TestCarrier(t *testing.T) {
	d, err := OpenDevice(t.Context(), Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	setup, err := d.sessionOptions("")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lodge(&d.engine, setup, "Cpu", ""); err != nil {
		t.Fatal(err)
	}
	if err := setup.Destroy(); err != nil {
		t.Fatal(err)
	}
	const n = parcel/4 + 3 // elements: more than are carried at once
	s, err := d.NewState("s", graph.Float32, n)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Repeat([]float32{1}, n)
	if err := s.ReadFloats(got); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(got, func(x float32) bool { return x != 0 }) {
		t.Error("a new state is not zeros")
	}
	want := make([]float32, n)
	for i := range want {
		want[i] = float32(i)
	}
	if err := s.WriteFloats(want); err != nil {
		t.Fatal(err)
	}
	double := graph.Model{IRVersion: 9, Opsets: []graph.Opset{{Version: 20}}, Graph: &graph.Graph{Name: "double",
		Nodes:   []*graph.Node{{Op: "Add", Inputs: []string{"x", "x"}, Outputs: []string{"y"}}},
		Inputs:  []*graph.ValueInfo{{Name: "x", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named("n")}}},
		Outputs: []*graph.ValueInfo{{Name: "y", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named("n")}}}}}
	p, err := d.NewProgram(t.Context(), Model{Name: "double", Data: double.Encode()}, ProgramOptions{States: []StateBinding{{Input: "x", Output: "y", State: s}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadFloats(got); err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if x != 2*want[i] {
			t.Fatalf("element %d is %g, want %g", i, x, 2*want[i])
		}
	}
}
