// Package precision writes a model's graph anew with smaller numbers: float16, bfloat16, or 8-bit integers. The functions are pure, from graph to
// graph; they work on networks of ours and on ONNX files that somebody else exported, and write stock operators only. What a graph calls its
// "logits" counts as its result; what only other outputs need, such as the rates of insertion models, keeps its float32 arithmetic.
package precision

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// HalfWeights returns the model with its float32 matrices stored as float16 and computed with in float32: about half the file, the speed of
// the original. Sums are those of [Residuals]. The error names a number beyond float16.
func HalfWeights(m *graph.Model) (*graph.Model, error) {
	if err := whole(m); err != nil {
		return nil, err
	}
	out, err := model.Half(Residuals(m))
	if err != nil {
		return nil, fmt.Errorf("%w; take precision int8 or fp32", err)
	}
	if !slices.ContainsFunc(out.Graph.Initializers, func(t *graph.Tensor) bool { return t.Type == graph.Float16 }) {
		return nil, fmt.Errorf("graph %s: holds no float32 matrix; expected weights as initializers, take precision fp32", m.Graph.Name)
	}
	return out, nil
}

// whole refuses a model without a graph, or without its weights.
func whole(m *graph.Model) error {
	if m == nil || m.Graph == nil {
		return fmt.Errorf("the model has no graph; expected a whole ONNX model")
	}
	if files := m.External(); len(files) > 0 {
		return fmt.Errorf("graph %s: its weights are in %q; expected them in memory, read the model with graph.Open", m.Graph.Name, files[0])
	}
	return nil
}
