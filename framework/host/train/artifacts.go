package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
)

// ParametersFile holds the initial values beside artifacts that were made without a run.
const ParametersFile = "parameters.safetensors"

// Artifacts makes the training artifacts of a model (train.from) without running them, for whoever drives the graphs
// otherwise: the graphs, their manifest, and the initial values. What was found in the model goes to out.
func Artifacts(ctx context.Context, cfg *config.Config, o host.Options, dir string, out io.Writer) error {
	var problems config.Problems
	if cfg.Train.From == "" {
		problems = append(problems, config.Problem{Key: "train.from", Text: "is empty, expected the model to train: a directory or an embedded name; give it with --from"})
	}
	if cfg.Data.Length == 0 {
		problems = append(problems, config.Problem{Key: "data.length", Text: "is 0, expected the positions of a row; give it with --length"})
	}
	if problems != nil {
		return problems
	}
	m, err := source(cfg)
	if err != nil {
		return err
	}
	d, err := loadDenoiser(m)
	if err != nil {
		return err
	}
	if fixed := m.FixedLength(); fixed > 0 && fixed != cfg.Data.Length {
		return fmt.Errorf("data.length: is %d, and model %s takes exactly %d positions; use that", cfg.Data.Length, m.Name, fixed)
	}
	t, err := ask(ctx, cfg, o, d)
	if err != nil {
		return err
	}
	seed := uint64(0)
	if cfg.Seed != nil {
		seed = *cfg.Seed
	}
	more, err := others(cfg, d, t, cfg.Data.Length, seed)
	if err != nil {
		return err
	}
	set, err := compose(cfg, d, more, t, cfg.Data.Length)
	if err != nil {
		return err
	}
	params, err := begin(set.Manifest.Parameters, &t.reply.Spec, d, more, seed)
	if err != nil {
		return err
	}
	frozen, err := begin(set.Manifest.Frozen, &t.reply.Spec, d, more, seed)
	if err != nil {
		return err
	}
	if err := set.Save(dir); err != nil {
		return err
	}
	tensors := append(training.Tensors(set.Manifest.Parameters, params), training.Tensors(set.Manifest.Frozen, frozen)...)
	if err := safetensors.WriteFile(filepath.Join(dir, ParametersFile), tensors, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	return describe(out, dir, set, d)
}

// describe says what the artifacts are.
func describe(out io.Writer, dir string, set *artifact.Set, d *denoiser) error {
	m := &set.Manifest
	_, err := fmt.Fprintf(out, "rows      %d of %d positions\nvector    %d numbers in %d parameters\n", m.Rows, m.Length, m.Size(), len(m.Parameters))
	for _, in := range m.Inputs {
		_, more := fmt.Fprintf(out, "input     %s: %s %v\n", in.Name, in.Kind, in.Shape)
		err = errors.Join(err, more)
	}
	for _, note := range d.notes {
		_, more := fmt.Fprintf(out, "note      %s\n", note)
		err = errors.Join(err, more)
	}
	for _, name := range []string{artifact.TrainingFile, artifact.OptimizerFile, artifact.EvalFile, artifact.ManifestFile, ParametersFile} {
		_, more := fmt.Fprintf(out, "file      %s\n", filepath.Join(dir, name))
		err = errors.Join(err, more)
	}
	return err
}
