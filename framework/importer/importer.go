// Package importer brings models of Hugging Face's families, and networks of this framework that were trained elsewhere, into model directories, without Python: the network by the rules of
// package network/family, the weights mapped from where they lie and written once, in their own precision, under the names of this framework, and an
// ONNX file that refers to them.
package importer

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// Options are what an import may be told.
type Options struct {
	Tokenizer string    // path of a tokenizer.json; "": the one of the model
	Version   string    // of this program, for mdm.json
	Progress  io.Writer // a terminal, where progress is shown once an import takes longer than two seconds; nil: nowhere
}

// Summary is what was imported.
type Summary struct {
	Dir        string   `json:"dir"`
	ModelType  string   `json:"model_type"`
	Parameters int64    `json:"parameters"`
	Bytes      int64    `json:"bytes"`       // of model.safetensors
	Precision  string   `json:"precision"`   // of the weights: "F32", or "BF16, F32" where they are mixed
	Seconds    float64  `json:"seconds"`     //
	PeakMemory int64    `json:"peak_memory"` // bytes; 0 where the system does not say
	Digest     string   `json:"digest"`      // of [model.Model.Digest]
	Notes      []string `json:"notes,omitempty"`
}

// Import reads the model in dir and writes a model directory to out, whole or not at all. A model directory that is there already is
// replaced, unless it holds files that the new one lacks. Errors begin with the file, and list all problems of config.json, or of the
// weights, at once.
func Import(ctx context.Context, dir, out string, o Options) (*Summary, error) {
	start := time.Now()
	if in, err := os.Stat(dir); err == nil {
		if there, err := os.Stat(out); err == nil && os.SameFile(in, there) {
			return nil, fmt.Errorf("%s: is the model that is read; give another directory to write", out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, lacking(dir, err)
	}
	recipe, err := family.Parse(filepath.Join(dir, "config.json"), text)
	if err != nil {
		return nil, err
	}
	words, err := readTokenizer(dir, o.Tokenizer, recipe)
	if err != nil {
		return nil, err
	}
	weights, err := openWeights(dir)
	if err != nil {
		return nil, err
	}
	defer weights.close()
	if recipe.Ours() {
		if err := weights.openExtra(dir); err != nil {
			return nil, err
		}
	}
	parameters, err := recipe.Assemble(weights.tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", weights.name, strings.ReplaceAll(err.Error(), "\n", "\n"+weights.name+": "))
	}
	var said about
	if recipe.Ours() {
		if said, err = readAbout(dir, recipe); err != nil {
			return nil, err
		}
	}
	notices, err := model.Notices(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	tensors := append(parameters, recipe.Extra...)
	safetensors.Sort(tensors)
	w := &writer{ctx: ctx, recipe: recipe, tokenizer: words, weights: weights, tensors: tensors, said: said, dir: dir, notices: notices,
		read: slices.Concat([]string{filepath.Join(dir, "config.json")}, words.read, weights.read, said.read), version: o.Version, screen: newScreen(o.Progress, tensors)}
	digest, err := w.write(out)
	w.screen.close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", out, err)
	}
	s := &Summary{Dir: out, ModelType: recipe.ModelType, Digest: digest, Notes: recipe.Notes, Seconds: time.Since(start).Seconds(), PeakMemory: peakMemory()}
	for _, t := range tensors {
		s.Parameters += t.Len()
		s.Bytes += int64(len(t.Data))
	}
	s.Precision = strings.Join(precisions(tensors), ", ")
	if _, err := os.Stat(filepath.Join(dir, generationName)); err == nil && !recipe.Ours() {
		s.Notes = append(s.Notes, "left out: generation_config.json, whose settings are of other code; samplers and planners are chosen when the model is sampled")
	}
	return s, nil
}

// precisions are the types of elements, those of most elements first.
func precisions(tensors []safetensors.Tensor) (out []string) {
	count := map[string]int64{}
	for _, t := range tensors {
		count[string(t.DType)] += t.Len()
	}
	for d := range count {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b string) int { return int(min(1, max(-1, count[b]-count[a]))) })
	return out
}

// lacking explains a directory that is no model.
func lacking(dir string, err error) error {
	switch info, missing := os.Stat(dir); {
	case missing != nil:
		return fmt.Errorf("%s: no such directory; give the directory that holds config.json and the weights, as it was downloaded", dir)
	case !info.IsDir():
		return fmt.Errorf("%s: is a file; give the directory that holds config.json and the weights", dir)
	case os.IsNotExist(err):
		return fmt.Errorf("%s: has no config.json; give the directory of a whole model, as it was downloaded", dir)
	}
	return err
}
