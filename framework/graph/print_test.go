package graph

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrint(t *testing.T) {
	b := NewBuilder("loss", 20)
	ids := b.Input("input_ids", Int64, Dims("B", "L")...)
	targets := b.Input("targets", Int64, Dims("B", "L")...)
	embedding := b.Initializer(OfFloats("embedding", []int64{11, 4}, make([]float32, 44)))
	head := b.Initializer(OfFloats("head", []int64{4, 11}, make([]float32, 44)))
	leave := b.Scope("layer.0")
	h := b.Gelu(b.Gather(embedding, ids, 0))
	leave()
	h = b.LayerNormalization(b.Mul(h, b.Float(0.5)), b.Initializer(OfFloats("gamma", []int64{4}, make([]float32, 4))), Value{}, 1e-5)
	h = b.Cast(b.Cast(b.Clip(h, Value{}, b.Float(1)), Float64), Float32)
	loss := b.ReduceMean(b.CrossEntropy(b.MatMul(h, head), targets), false, 0, 1)
	m, err := b.Model(Output{"loss", loss}, Output{"hidden", h})
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.Nodes = append(m.Graph.Nodes, &Node{Name: "odd", Op: "Resize", Inputs: []string{"hidden", "", ""}, Outputs: []string{"resized"}, Attributes: []*Attribute{String("mode", "cubic")}},
		&Node{Name: "top", Op: "TopK", Inputs: []string{"hidden", "input_ids"}, Outputs: []string{"best", "at"}})
	var got bytes.Buffer
	if err := Print(&got, m); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/print.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s\n%s", d, got.String())
	}
	if err := Print(full{}, m); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := Print(&got, &Model{}); err != nil {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
