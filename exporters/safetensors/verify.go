package safetensors

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model"
)

//go:embed verify.py
var script []byte

// read is what Python read: a line of verify.py.
type read struct {
	Stack   string            `json:"stack"`
	Tensors map[string]tensor `json:"tensors"`
}

type tensor struct {
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	SHA256 string  `json:"sha256"` // of the elements as they lie in memory
}

// Verify implements [exporters.Target]: every element that Python reads is the model's.
func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	if _, err := model.Open(dir); err != nil {
		return nil, err
	}
	line, err := exporters.RunPython(ctx, o, script, filepath.Join(dir, weightsName))
	if err != nil {
		return nil, err
	}
	var got read
	if err := json.Unmarshal(line, &got); err != nil || got.Tensors == nil {
		return nil, fmt.Errorf("the verifier printed %.200q, expected one line of JSON, tensors by name", line)
	}
	w, err := open(s, o.Precision)
	if err != nil {
		return nil, err
	}
	v := &exporters.Verdict{Stack: got.Stack}
	var problems []error
	for _, t := range w.tensors {
		in, ok := got.Tensors[t.Name]
		delete(got.Tensors, t.Name)
		switch want := digest(t.Data); {
		case !ok:
			problems = append(problems, fmt.Errorf("tensor %q: is not there", t.Name))
		case in.DType != string(t.DType) || !slices.Equal(in.Shape, t.Shape):
			problems = append(problems, fmt.Errorf("tensor %q: is %s %v, expected %s %v", t.Name, in.DType, in.Shape, t.DType, t.Shape))
		case in.SHA256 != want:
			problems = append(problems, fmt.Errorf("tensor %q: has other elements than the model's", t.Name))
		}
		v.Elements += t.Len()
	}
	for _, name := range slices.Sorted(maps.Keys(got.Tensors)) {
		problems = append(problems, fmt.Errorf("tensor %q: is none of the model's", name))
	}
	return v, errors.Join(problems...)
}
