package precision

import (
	"fmt"
	"math"

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
	// products always run in the narrow type.
	products = set("MatMul", "Gemm", "com.microsoft.FusedMatMul")

	// anyType take every element type and give what has nothing to do with it, or only change it.
	anyType = set("Shape", "Size", "Cast", "CastLike", "IsNaN", "IsInf")

	// followers run in the type of what they read. Everything else runs in float32.
	followers = map[graph.Type]map[string]bool{graph.Float16: set("Add", "Sub", "Mul", "Div", "Sum", "Min", "Max", "Neg", "Abs", "Where", "Clip", "Relu", "LeakyRelu", "Tanh", "Sigmoid", "Gelu", "Erf",
		"com.microsoft.FastGelu", "com.microsoft.QuickGelu", "com.microsoft.RotaryEmbedding", "RotaryEmbedding", "mdm.Silu",
		"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Concat", "Split", "Slice", "Pad", "Gather", "GatherElements", "GatherND", "Dropout"),
		graph.BFloat16: set("Add", "Sub", "Mul", "Div", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Concat", "Split", "Slice", "Gather")}
)

// toHalf is a constant in the narrow type.
func toHalf(t *graph.Tensor, typ graph.Type) (*graph.Tensor, error) {
	values, err := floats(t)
	if err != nil {
		return nil, err
	}
	half, err := safetensors.Of(t.Name, t.Dims, values).To(dtypes[typ])
	if err != nil {
		return nil, fmt.Errorf("weight %w; take precision int8 or fp32", err)
	}
	return &graph.Tensor{Name: t.Name, Type: typ, Dims: t.Dims, Raw: half.Data}, nil
}

// fits tells whether the narrow type can say every number of t: in float16 none of them becoming 0 or an infinity, in bfloat16 a single number
// exactly, such as the factor of all scores.
func fits(t *graph.Tensor, typ graph.Type) bool {
	values, err := floats(t)
	if err != nil {
		return false
	}
	if typ == graph.BFloat16 {
		return len(values) > 1 || len(values) == 1 && math.Float32bits(values[0])&0xffff == 0
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
