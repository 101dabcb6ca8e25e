package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// ExponentsTensor is the tensor of model.safetensors, float [V], that holds the exponents of a model whose schedule is per_token.
const ExponentsTensor = "schedule.exponents"

const (
	perToken           = "per_token"
	parametersFileName = "model.safetensors"
)

// Exponents reads the exponents w > 0 of GenMD4 (Shi et al. 2024, section 6): a token x is masked at time t with probability t^w[x],
// so that those with a large w are written early when the model samples. They are [V], and those of tokens that are never
// written mean nothing. nil stands for a model whose schedule is not per_token.
func (m *Model) Exponents() ([]float32, error) {
	if m.Manifest.Schedule.Kind != perToken {
		return nil, nil
	}
	name := m.folder.path(parametersFileName)
	fail := func(format string, args ...any) ([]float32, error) {
		return nil, fmt.Errorf("%s: %s; mdm.json says schedule %s: copy the file of that training run, or train with --set trainer.name=genmd4", name, fmt.Sprintf(format, args...), perToken)
	}
	data, err := m.ReadFile(parametersFileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("is not there, expected it with the tensor %s", ExponentsTensor)
	case err != nil:
		return nil, err
	}
	f, err := safetensors.Parse(name, data)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.Tensors(), func(t safetensors.Tensor) bool { return t.Name == ExponentsTensor })
	if i < 0 {
		return fail("has no tensor %s", ExponentsTensor)
	}
	t := f.Tensors()[i]
	if !slices.Equal(t.Shape, []int64{int64(m.V)}) {
		return fail("%s has shape %v, expected [%d], the width of the logits", ExponentsTensor, t.Shape, m.V)
	}
	w, err := t.Float32s()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for id, x := range w {
		if !(x > 0) || math.IsInf(float64(x), 0) {
			return fail("%s of token %d is %v, expected a finite number above 0", ExponentsTensor, id, x)
		}
	}
	return slices.Clone(w), nil
}

// Exponent is the learned speed of a token.
type Exponent struct {
	Named
	W float32 `json:"w"`
}

// exponents are those of the tokens that the model may write, the largest first.
func (m *Model) exponents() ([]Exponent, error) {
	w, err := m.Exponents()
	if w == nil {
		return nil, err
	}
	var out []Exponent
	never := m.Suppress()
	for id := range int32(min(len(w), m.Tokenizer.Size())) {
		if !slices.Contains(never, id) {
			out = append(out, Exponent{m.named(id)[0], w[id]})
		}
	}
	slices.SortStableFunc(out, func(a, b Exponent) int { return cmp.Compare(b.W, a.W) })
	return out, nil
}
