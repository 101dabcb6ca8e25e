package network

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Precisions of stored weights. Computation is float32 either way.
const (
	Float32 = "float32"
	Float16 = "float16" // matrices as float16, vectors as float32: half the file
)

// ExportOptions choose how a model is written; the zero value is float32 at the builder's default opset.
type ExportOptions struct {
	Opset     int64  // 17 to 23; 0: graph.DefaultOpset
	Precision string // Float32 or Float16; "": Float32

	// Bias adds the inputs attention_bias [B, 1, L, L] and position_ids [B, L], which statistics such as logp_leave_one_out
	// take. Rows may then be twice as long as there are positions.
	Bias bool
}

// Export makes the model that samples: input_ids, attention_mask and what else [Signature] has but position_ids and attention_bias to what
// Signature gives, with any B and L. Weights are initializers under the names of [Params]; where they are float16 a Cast follows, which ONNX Runtime does
// once, when it loads the model. Errors name what is missing, unexpected, misshapen or beyond float16.
func Export(c Config, values Values, o ExportOptions) (*graph.Model, error) {
	if err := values.check(c); err != nil {
		return nil, err
	}
	fill(&o.Precision, Float32)
	if o.Precision != Float32 && o.Precision != Float16 {
		return nil, fmt.Errorf("export: precision is %q, expected %s or %s", o.Precision, Float32, Float16)
	}
	return export(c, o, func(p Param) (*graph.Tensor, error) { return stored(p, values[p.Name], o.Precision) })
}

// export makes the model of the initializers that initializer gives; those of other types than float32 are cast.
func export(c Config, o ExportOptions, initializer func(p Param) (*graph.Tensor, error)) (*graph.Model, error) {
	fill(&o.Opset, graph.DefaultOpset)
	b := graph.NewBuilder(c.ModelType, o.Opset)
	params := map[string]graph.Value{}
	for _, p := range Params(c) {
		t, err := initializer(p)
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		params[p.Name] = b.Cast(b.Initializer(t), graph.Float32)
	}
	inputs := map[string]graph.Value{}
	for _, p := range Signature(c).Inputs {
		if own := p.Name == "position_ids" || p.Name == "attention_bias"; !own || o.Bias {
			inputs[p.Name] = b.Input(p.Name, p.Type, p.Shape...)
		}
	}
	if o.Bias && !c.placed() {
		b.Input("position_ids", graph.Int64, graph.Dims("B", "L")...) // which it does not read
	}
	out := Build(b, c, params, inputs)
	if err := b.Err(); err != nil {
		return nil, err
	}
	var outputs []graph.Output
	for _, p := range c.outputs() {
		outputs = append(outputs, graph.Output{Name: p.Name, Value: out[p.Name]})
	}
	return b.Model(outputs...)
}

// stored is a parameter as the file holds it.
func stored(p Param, values []float32, precision string) (*graph.Tensor, error) {
	if precision == Float32 || len(p.Shape) < 2 {
		return graph.OfFloats(p.Name, p.Shape, values), nil
	}
	half, err := safetensors.Of(p.Name, p.Shape, values).To(safetensors.F16)
	if err != nil {
		return nil, err
	}
	return &graph.Tensor{Name: p.Name, Type: graph.Float16, Dims: p.Shape, Raw: half.Data}, nil
}

// check holds values against a config: every parameter once, of its length, and finite.
func (v Values) check(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	rest := maps.Clone(v)
	for _, p := range Params(c) {
		got, ok := v[p.Name]
		switch {
		case !ok:
			return fmt.Errorf("parameter %q: is missing; expected those of network.Params", p.Name)
		case int64(len(got)) != p.Len():
			return fmt.Errorf("parameter %q: has %d numbers, expected %d for shape %v", p.Name, len(got), p.Len(), p.Shape)
		}
		for i, x := range got {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("parameter %q: element %d is %g, expected a finite number; use an earlier checkpoint", p.Name, i, x)
			}
		}
		delete(rest, p.Name)
	}
	if len(rest) > 0 {
		return fmt.Errorf("parameters %q: are none of this network; expected those of network.Params", slices.Sorted(maps.Keys(rest)))
	}
	return nil
}
