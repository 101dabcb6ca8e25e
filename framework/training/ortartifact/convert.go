package ortartifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// The files of a folder of artifacts: what the generator calls them, and the parameters as we write them.
const (
	TrainingFile   = "training_model.onnx"
	EvalFile       = "eval_model.onnx"
	CheckpointFile = "checkpoint"
	ParametersFile = "parameters.safetensors"
)

// Convert adapts a folder that the generator wrote and puts the result into the folder out: the training model, the
// evaluation model where there is one, and the parameters of the checkpoint, trained and frozen, as safetensors. Nothing is written unless all of it
// can be adapted. It returns the ports of the training model and the paths of the files.
func Convert(dir, out string) (*Layout, []string, error) {
	if same, err := sameFolder(dir, out); err != nil {
		return nil, nil, err
	} else if same {
		return nil, nil, fmt.Errorf("artifacts %s: the adapted ones would replace them; name another folder", dir)
	}
	models, err := adapted(dir)
	if err != nil {
		return nil, nil, err
	}
	layout, err := Describe(models[TrainingFile])
	if err != nil {
		return nil, nil, err
	}
	tensors, err := parameters(filepath.Join(dir, CheckpointFile), layout)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, err
	}
	var paths []string
	for _, name := range []string{TrainingFile, EvalFile} {
		if m := models[name]; m != nil {
			paths = append(paths, filepath.Join(out, name))
			if err := graph.Save(paths[len(paths)-1], m); err != nil {
				return nil, nil, err
			}
		}
	}
	paths = append(paths, filepath.Join(out, ParametersFile))
	return layout, paths, safetensors.WriteFile(paths[len(paths)-1], tensors, map[string]string{"format": "pt"})
}

// adapted reads and adapts the training model and, where there is one, the evaluation model.
func adapted(dir string) (map[string]*graph.Model, error) {
	models := map[string]*graph.Model{}
	for _, name := range []string{TrainingFile, EvalFile} {
		path := filepath.Join(dir, name)
		m, err := graph.Open(path)
		switch {
		case name == EvalFile && errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w; expected what onnxruntime.training.artifacts.generate_artifacts wrote: %s and %s", err, TrainingFile, CheckpointFile)
		case err != nil:
			return nil, err
		}
		if models[name], err = Adapt(m); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return models, nil
}

// parameters reads a checkpoint, which must hold all that the training model trains.
func parameters(path string, l *Layout) ([]safetensors.Tensor, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := ReadCheckpoint(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	types := map[graph.Type]safetensors.DType{graph.Float32: safetensors.F32, graph.Float16: safetensors.F16, graph.BFloat16: safetensors.BF16, graph.Float64: safetensors.F64,
		graph.Int64: safetensors.I64, graph.Int32: safetensors.I32, graph.Bool: safetensors.Bool, graph.Uint8: safetensors.U8, graph.Int8: safetensors.I8}
	known := map[string]bool{}
	var out []safetensors.Tensor
	for _, t := range append(c.Trained[:len(c.Trained):len(c.Trained)], c.Frozen...) {
		known[t.Name] = true
		out = append(out, safetensors.Tensor{Name: t.Name, DType: types[t.Type], Shape: t.Dims, Data: t.Raw})
	}
	for _, p := range l.Parameters {
		if !known[p.Name] {
			return nil, fmt.Errorf("%s: lacks the parameter %s of %s; take both from one folder", path, p.Name, TrainingFile)
		}
	}
	return out, nil
}

func sameFolder(a, b string) (bool, error) {
	one, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(one, other), err
}
