package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// The files of a set.
const (
	TrainingFile  = "training_model.onnx"
	OptimizerFile = "optimizer_model.onnx"
	EvalFile      = "eval_model.onnx"
	ManifestFile  = "manifest.json"
)

// encoded are the files' contents.
func (s *Set) encoded() (map[string][]byte, error) {
	text, err := json.MarshalIndent(&s.Manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return map[string][]byte{TrainingFile: s.Training.Encode(), OptimizerFile: s.Optimizer.Encode(), EvalFile: s.Eval.Encode(), ManifestFile: append(text, '\n')}, nil
}

// Digests are the sha256 of the files, in hexadecimal, by name.
func (s *Set) Digests() (map[string]string, error) {
	files, err := s.encoded()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, text := range files {
		sum := sha256.Sum256(text)
		out[name] = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// Save writes the files into dir, each whole or not at all.
func (s *Set) Save(dir string) error {
	files, err := s.encoded()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := wholefile.ReplaceBytes(path, text); err != nil {
			return fmt.Errorf("artifact %s: %w", path, err)
		}
	}
	return nil
}

// Load reads the files of a set.
func Load(dir string) (*Set, error) {
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, fmt.Errorf("artifacts %s: %w; expected what `mdmhost artifacts` or a run wrote", dir, err)
	}
	s := &Set{}
	if err := json.Unmarshal(text, &s.Manifest); err != nil {
		return nil, fmt.Errorf("artifacts %s: %s: %w; make them anew", dir, ManifestFile, err)
	}
	if s.Manifest.Format != manifestFormat || s.Manifest.Version > manifestVersion {
		return nil, fmt.Errorf("artifacts %s: %s is of format %q, version %d; expected %q up to version %d", dir, ManifestFile, s.Manifest.Format, s.Manifest.Version, manifestFormat, manifestVersion)
	}
	for _, part := range []struct {
		name string
		to   **graph.Model
	}{{TrainingFile, &s.Training}, {OptimizerFile, &s.Optimizer}, {EvalFile, &s.Eval}} {
		file, err := os.ReadFile(filepath.Join(dir, part.name))
		if err != nil {
			return nil, fmt.Errorf("artifacts %s: %w; make them anew", dir, err)
		}
		if *part.to, err = graph.Decode(file); err != nil {
			return nil, fmt.Errorf("artifacts %s: %s: %w; make them anew", dir, part.name, err)
		}
	}
	return s, nil
}
