package graph_test

import (
	"fmt"
	"os"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// A linear layer with a loss.
func ExampleBuilder() {
	b := graph.NewBuilder("linear", 20)
	x := b.Input("x", graph.Float32, graph.Dims("B", 4)...)
	targets := b.Input("targets", graph.Int64, graph.Named("B"))
	w := b.Initializer(graph.OfFloats("w", []int64{4, 3}, make([]float32, 12)))

	defer b.Scope("head")()
	logits := b.MatMul(x, w)
	loss := b.ReduceMean(b.CrossEntropy(logits, targets), false)

	m, err := b.Model(graph.Output{Name: "loss", Value: loss})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = graph.Print(os.Stdout, m)
	// Output:
	// model linear: IR 10, opsets ai.onnx 20, mdm 1
	// inputs: 2
	//   x: [B, 4] float32
	//   targets: [B] int64
	// parameters: 1, 12 elements, 48 bytes
	//   w: [4, 3] float32
	// nodes: 3
	//   head/MatMul: [B, 3] float32 = MatMul(x, w)
	//   head/CrossEntropy: [B] float32, head/CrossEntropy.1: [B] float32 = mdm.CrossEntropy(head/MatMul, targets)
	//   loss: [] float32 = ReduceMean(head/CrossEntropy) {keepdims=0}
	// outputs: 1
	//   loss: [] float32
	// functions: 1
	//   mdm.CrossEntropy(logits, targets) -> nll, lse: 14 nodes
}

// A wrong call is told where it stands.
func ExampleBuilder_Err() {
	b := graph.NewBuilder("linear", 20)
	x := b.Input("x", graph.Float32, graph.Dims("B", 4)...)
	w := b.Input("w", graph.Float32, graph.Dims(3, 4)...)

	defer b.Scope("head")()
	logits := b.MatMul(x, w)
	b.Softmax(logits, -1) // does nothing any more

	fmt.Println(b.Err())
	// Output:
	// graph linear: head: example_test.go:51: MatMul(x float32[B, 4], w float32[3, 4]): inner dimensions 4 and 3 differ; expected [.., M, K] and [.., K, N], transpose or reshape one of them
}
