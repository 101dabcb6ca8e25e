package precision

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

func set(keys ...string) map[string]bool {
	out := map[string]bool{}
	for _, k := range keys {
		out[k] = true
	}
	return out
}

var (
	// products always run in float16.
	products = set("MatMul", "Gemm", "com.microsoft.FusedMatMul")

	// anyType take every element type and give what has nothing to do with it, or only change it.
	anyType = set("Shape", "Size", "Cast", "CastLike", "IsNaN", "IsInf")

	// follows run in the type of what they read. Everything else runs in float32.
	follows = set("Add", "Sub", "Mul", "Div", "Sum", "Min", "Max", "Neg", "Abs", "Where", "Clip", "Relu", "LeakyRelu", "Tanh", "Sigmoid", "Gelu", "Erf",
		"com.microsoft.FastGelu", "com.microsoft.QuickGelu", "com.microsoft.RotaryEmbedding", "RotaryEmbedding", "mdm.Silu",
		"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Concat", "Split", "Slice", "Pad", "Gather", "GatherElements", "GatherND", "Dropout")
)

// toHalf is a constant as float16.
func toHalf(t *graph.Tensor) (*graph.Tensor, error) {
	values, err := floats(t)
	if err != nil {
		return nil, err
	}
	half, err := safetensors.Of(t.Name, t.Dims, values).To(safetensors.F16)
	if err != nil {
		return nil, fmt.Errorf("weight %w; take precision int8 or fp32", err)
	}
	return &graph.Tensor{Name: t.Name, Type: graph.Float16, Dims: t.Dims, Raw: half.Data}, nil
}

// fits tells whether float16 can say every number of t, none of them becoming 0 or an infinity.
func fits(t *graph.Tensor) bool {
	values, err := floats(t)
	if err != nil {
		return false
	}
	weights := len(t.Dims) > 1 // where a number may well be next to nothing
	for _, x := range values {
		y := safetensors.FromFloat16(safetensors.Float16(x))
		if finite(x) && !finite(y) || x != 0 && y == 0 && !weights {
			return false
		}
	}
	return true
}
