package precision_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// block is a table, a product with bias on top of a residual sum, and a norm; at is added to the table's last number.
func block(t *testing.T, at float32) *graph.Model {
	t.Helper()
	b := graph.NewBuilder("block", 20)
	table := slices.Repeat([]float32{0.25, -1}, 5*8)
	table[len(table)-1] += at
	x := b.Gather(b.Initializer(graph.OfFloats("table", []int64{5, 16}, table)), b.Input("ids", graph.Int64, graph.Named("T")), 0)
	w := b.Initializer(graph.OfFloats("w", []int64{16, 16}, slices.Repeat([]float32{0.5, 1, -2}, 86)[:256]))
	y := b.Add(b.MatMul(x, w), b.Initializer(graph.OfFloats("bias", []int64{16}, make([]float32, 16))))
	y = b.LayerNormalization(b.Add(x, y), b.Initializer(graph.OfFloats("scale", []int64{16}, slices.Repeat([]float32{1}, 16))), graph.Value{}, 1e-5)
	m, err := b.Model(graph.Output{Name: "y", Value: y})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStorage: tables are float16 where they fit and float32 where they do not, the float32 weights are gone, and only the sum that goes into the
// norm is a Sum: the bias stays an Add, which ONNX Runtime fuses.
func TestStorage(t *testing.T) {
	for at, want := range map[float32]map[string]graph.Type{
		0:   {"table.float16": graph.Float16, "bias": graph.Float32, "scale": graph.Float32, "w.int8": graph.Int8, "w.scale": graph.Float32},
		1e6: {"table": graph.Float32, "bias": graph.Float32, "scale": graph.Float32, "w.int8": graph.Int8, "w.scale": graph.Float32},
	} {
		m, err := precision.Int8(block(t, at))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]graph.Type{}
		for _, tensor := range m.Graph.Initializers {
			got[tensor.Name] = tensor.Type
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if sums, adds := count(m, "Sum"), count(m, "Add"); sums != 1 || adds != 1 {
			t.Errorf("%d Sum and %d Add, want one of each", sums, adds)
		}
		out := run(t, t, device(t), m, map[string]int64{"T": 3}, map[string][]int64{"ids": {0, 4, 2}}, nil)
		if len(out["y"]) != 3*16 {
			t.Errorf("%d numbers, want 48", len(out["y"]))
		}
	}
}
