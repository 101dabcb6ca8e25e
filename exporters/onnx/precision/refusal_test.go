package precision_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// TestRefusals: what a precision cannot do is said with the weight or the graph, and what to do instead.
func TestRefusals(t *testing.T) {
	weights := func(x float32) []float32 { return append(slices.Repeat([]float32{0.5}, 4*16-1), x) }
	plain := layer{k: 4, n: 16, w: weights(1), how: "initializer"}.model(t)
	again, err := precision.Int8(plain)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder("network", 20)
	y := b.MatMul(b.Input("x", graph.Float32, graph.Dims("T", 4)...), b.Input("w", graph.Float32, graph.Dims(4, 16)...))
	fed, err := b.Model(graph.Output{Name: "y", Value: y})
	if err != nil {
		t.Fatal(err)
	}
	linked := *plain.Graph
	linked.Initializers = []*graph.Tensor{{Name: "w", Type: graph.Float32, Dims: []int64{4, 16}, External: []graph.Entry{{Key: "location", Value: "model.safetensors"}}}}
	old := *plain
	old.Opsets = []graph.Opset{{Version: 10}}
	for _, c := range []struct {
		name string
		make func(*graph.Model) (*graph.Model, error)
		m    *graph.Model
		want string
	}{
		{"no graph", precision.Int8, &graph.Model{}, "the model has no graph; expected a whole ONNX model"},
		{"other files", precision.HalfWeights, &graph.Model{Graph: &linked}, `its weights are in "model.safetensors"; expected them in memory, read the model with graph.Open`},
		{"an old opset", precision.Int8, &old, "has opset 10, and 8-bit products need 11"},
		{"weights from outside", precision.Int8, fed, "graph network: has nothing to quantise; expected MatMul or Gemm with a constant float32 matrix of at least 16 outputs"},
		{"weights from outside, half", precision.HalfWeights, fed, "graph network: holds no float32 matrix"},
		{"int8 already", precision.Int8, again, "has nothing to quantise"},
		{"a weight that is no number", precision.Int8, layer{k: 4, n: 16, w: weights(float32(math.NaN())), how: "initializer"}.model(t), `weight "w": element [3, 15] is NaN; expected a finite number`},
		{"a weight beyond float16", precision.HalfWeights, layer{k: 4, n: 16, w: weights(65520), how: "initializer"}.model(t), `tensor "w"`},
		{"a weight beyond float16, arithmetic", precision.Half, layer{k: 4, n: 16, w: weights(-1e5), how: "gemm"}.model(t), `graph layer: weight tensor "w"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.make(c.m)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if m != nil {
				t.Error("a model beside the error")
			}
		})
	}
}
