package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// schedule are the tensors that a trainer's schedule needs beside the networks, of a checkpoint: the exponents of a trainer whose
// schedule has some ([spec.PerToken]), from the file that the networks' values are of.
func (s *session) schedule(c *checkpoint.Checkpoint) (_ []safetensors.Tensor, err error) {
	if s.trainer.reply.Schedule.Kind != spec.PerToken {
		return nil, nil
	}
	f, err := c.Open(parametersOf(c))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := f.Tensor(spec.RawExponents)
	if err != nil {
		return nil, err
	}
	raw, err := t.Float32s()
	if err != nil {
		return nil, err
	}
	w := make([]float32, len(raw))
	for i, x := range raw {
		w[i] = max(float32(softplus(float64(x))), math.SmallestNonzeroFloat32)
	}
	return []safetensors.Tensor{safetensors.Of(model.ExponentsTensor, t.Shape, w)}, nil
}

// parametersOf is the file of a checkpoint that a model is made of: the moving average, where there is one.
func parametersOf(c *checkpoint.Checkpoint) string {
	if c.Has(checkpoint.EMAFile) {
		return checkpoint.EMAFile
	}
	return checkpoint.ModelFile
}

// rawExponents are the parameters that stand for the exponents of a model, or nil for a model without.
func rawExponents(m *model.Model) ([]float32, error) {
	w, err := m.Exponents()
	for i, x := range w {
		w[i] = float32(softplusInverse(float64(x)))
	}
	return w, err
}

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// softplusInverse is the x > -Inf with softplus(x) = y > 0.
func softplusInverse(y float64) float64 { return y + math.Log(-math.Expm1(-y)) }

// holdExponents makes the exponents of the model constants of an evaluation graph that reads them.
func (g *gauge) holdExponents() error {
	r := g.trainer.reply
	i := slices.IndexFunc(r.Spec.Params, func(p spec.Param) bool { return p.Name == spec.RawExponents })
	if r.Schedule.Kind != spec.PerToken || i < 0 {
		return nil
	}
	raw, err := rawExponents(g.model)
	if err != nil {
		return err
	}
	if raw == nil {
		return fmt.Errorf("model %s: has no exponents, which the bound of trainer %s is about; evaluate with trainer md4, or train one with genmd4", g.model.Name, g.trainer.description.Name)
	}
	file, err := graph.Decode(r.Eval)
	if err != nil {
		return err
	}
	file.Graph.Initializers = append(file.Graph.Initializers, graph.OfFloats(spec.RawExponents, []int64{int64(len(raw))}, raw))
	held := *r
	held.Eval, held.Spec.Params = file.Encode(), slices.Delete(slices.Clone(r.Spec.Params), i, i+1)
	g.trainer.reply = &held
	return nil
}
