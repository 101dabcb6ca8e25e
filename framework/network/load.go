package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// ParseConfig reads and checks the network of a config.json. Keys that it does not know are left out. name is what errors
// call the file.
func ParseConfig(name string, data []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w; correct the file", name, err)
	}
	if c.ModelType != ModelType {
		return c, fmt.Errorf("%s: model_type is %q, expected %q; only the framework's own networks can be read so", name, c.ModelType, ModelType)
	}
	c = c.Filled()
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Load reads the network of a model directory back, to train on: config.json and model.safetensors. Elements of any float
// type become float32. The error lists every tensor that is missing, unexpected or of another shape.
func Load(dir string) (Config, Values, error) {
	return load(dir, dir, os.DirFS(dir).(fs.ReadFileFS).ReadFile)
}

// From is [Load] of an opened model, embedded ones included. Where there is no model.safetensors, as in exports to ONNX, it is [Exported].
func From(m *model.Model) (Config, Values, error) {
	c, values, err := load(m.Name, m.Dir, m.ReadFile)
	if errors.Is(err, fs.ErrNotExist) && m.Config.ModelType == ModelType {
		return Exported(m)
	}
	return c, values, err
}

// load reads a model whose directory is dir, or none where it is embedded.
func load(name, dir string, read func(file string) ([]byte, error)) (Config, Values, error) {
	text, err := read(configName)
	if err != nil {
		return Config{}, nil, fmt.Errorf("model %s: %w", name, err)
	}
	c, err := ParseConfig(filepath.Join(name, configName), text)
	if err != nil {
		return c, nil, err
	}
	f, err := parameters(name, dir, read)
	if err != nil {
		return c, nil, fmt.Errorf("model %s: %w; training on needs the parameters", name, err)
	}
	defer f.Close() //nolint:errcheck // the values are copies
	values, err := fromTensors(c, f.Tensors())
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w; take config.json and model.safetensors of one model", f.Name, err)
	}
	return c, values, nil
}

// parameters opens model.safetensors, mapped into memory where it is a file.
func parameters(name, dir string, read func(file string) ([]byte, error)) (*safetensors.File, error) {
	if dir != "" {
		return safetensors.Open(filepath.Join(dir, parametersName))
	}
	text, err := read(parametersName)
	if err != nil {
		return nil, err
	}
	return safetensors.Parse(filepath.Join(name, parametersName), text)
}

// fromTensors copies the parameters out of a file; what [Extra] reads is left out.
func fromTensors(c Config, tensors []safetensors.Tensor) (Values, error) {
	return fromParams(Params(c), slices.DeleteFunc(slices.Clone(tensors), func(t safetensors.Tensor) bool { return IsExtra(t.Name) }))
}

func fromParams(params []Param, tensors []safetensors.Tensor) (Values, error) {
	have := map[string]safetensors.Tensor{}
	for _, t := range tensors {
		have[t.Name] = t
	}
	out := Values{}
	var problems []error
	for _, p := range params {
		t, ok := have[p.Name]
		delete(have, p.Name)
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("tensor %q is missing, expected shape %v", p.Name, p.Shape))
			continue
		case !slices.Equal(t.Shape, p.Shape):
			problems = append(problems, fmt.Errorf("tensor %q has shape %v, expected %v", p.Name, t.Shape, p.Shape))
			continue
		}
		values, err := t.Float32s()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if t.DType == safetensors.F32 { // else they are a copy already
			values = slices.Clone(values)
		}
		out[p.Name] = values
	}
	for _, t := range tensors {
		if _, left := have[t.Name]; left {
			problems = append(problems, fmt.Errorf("tensor %q is unexpected: config.json describes no such parameter", t.Name))
		}
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return out, nil
}
