package precision

import (
	"errors"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Half returns the model with weights and arithmetic in float16; norms, softmax, rates and outputs stay float32.
func Half(m *graph.Model) (*graph.Model, error) {
	return nil, errors.New("precision fp16: is being written; take fp16-weights")
}
