// Package precision writes a model's graph anew with smaller weights: float16, or 8-bit integers. The functions are pure, from graph to
// graph; they work on networks of ours and on ONNX files that somebody else exported, and use stock operators alone.
package precision

import (
	"errors"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// Option changes what [Int8] does.
type Option func(*settings)

type settings struct {
	float func(name string) bool
}

// Except leaves products float32 whose weight's name keep says true of.
func Except(keep func(name string) bool) Option { return func(s *settings) { s.float = keep } }

// HalfWeights returns the model with its matrices stored as float16 and computed with in float32.
func HalfWeights(m *graph.Model) (*graph.Model, error) { return model.Half(m) }

// Half returns the model with weights and arithmetic in float16; norms, softmax, rates and outputs stay float32.
func Half(m *graph.Model) (*graph.Model, error) {
	return nil, errors.New("precision fp16: is being written; take fp16-weights")
}

// Int8 returns the model with its products with constant weights done in 8-bit integers: weights by output channel, activations by tensor,
// measured as they come.
func Int8(m *graph.Model, o ...Option) (*graph.Model, error) {
	return nil, errors.New("precision int8: is being written; take fp16-weights")
}
