package train

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// writeModel writes the model directory of the newest checkpoint: the moving average, where there is one.
func (s *session) writeModel() error {
	c, _, err := s.store.Latest()
	if err != nil {
		return err
	}
	values, err := denoiserValues(c)
	if err != nil {
		return err
	}
	m := network.ModelDir{Config: s.denoiser.config, Values: values, Tokenizer: s.data.Vocabulary.JSON, Special: &s.denoiser.special,
		Manifest: s.manifest(c.Manifest.Step), Generation: s.generation(), Export: network.ExportOptions{Precision: s.cfg.Train.Precision}, DType: safetensors.F32}
	if s.cfg.Train.Precision == network.Float16 {
		m.DType = safetensors.F16
	}
	return network.WriteModelDir(filepath.Join(s.cfg.Train.Run, ModelDir), m)
}

// denoiserValues reads the denoiser's parameters out of a checkpoint.
func denoiserValues(c *checkpoint.Checkpoint) (_ network.Values, err error) {
	name := checkpoint.ModelFile
	if c.Has(checkpoint.EMAFile) {
		name = checkpoint.EMAFile
	}
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := network.Values{}
	for _, t := range f.Tensors() {
		if local, ok := strings.CutPrefix(t.Name, spec.Denoiser+"."); ok {
			values, err := t.Float32s()
			if err != nil {
				return nil, err
			}
			out[local] = append([]float32(nil), values...)
		}
	}
	return out, nil
}

// manifest is the model's mdm.json.
func (s *session) manifest(step int64) *model.Manifest {
	m := &model.Manifest{Family: "masked", Schedule: model.Schedule(s.trainer.reply.Schedule),
		Trainer: &model.Trainer{Name: s.trainer.description.Name, Version: s.trainer.description.Version, Steps: step, Options: s.trainer.options}}
	m.Length = model.Length{Policy: "free", Cap: s.data.Train.Length()}
	if s.cfg.Data.FixedColumn != "" {
		m.Length.Policy = "fixed"
	}
	if blanks := []rune(s.cfg.Data.Blank); len(blanks) > 0 {
		m.Infill.Blank = string(blanks[0])
		for _, other := range blanks[1:] {
			if m.Infill.InputMap == nil {
				m.Infill.InputMap = map[string]string{}
			}
			m.Infill.InputMap[string(other)] = m.Infill.Blank
		}
	}
	return m
}

// generation is the model's generation_config.json: the settings of sampling that stand in the run's configuration.
func (s *session) generation() map[string]any {
	out := map[string]any{}
	for _, e := range s.cfg.Entries() {
		section, rest, nested := strings.Cut(e.Key, ".")
		if e.Note != "" || !s.cfg.Given(e.Key) {
			continue
		}
		switch section {
		case "planner", "sampler", "sampling":
			inner, _ := out[section].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				out[section] = inner
			}
			inner[rest] = e.Value
		case "length":
			if !nested {
				out[section] = e.Value
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
