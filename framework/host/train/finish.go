package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// finish writes the model of a run that ended well: of the newest checkpoint, or of the best one, where the run stopped because
// nothing better came.
func (s *session) finish(sum *training.Summary) error {
	c, _, err := s.store.Latest()
	if sum.End == training.Stopped {
		c, err = s.store.At(sum.Best.Step)
	}
	if err != nil {
		return err
	}
	return s.writeModel(c)
}

// rescue writes the model of the last checkpoint that is sound after a run diverged, and says what to do.
func (s *session) rescue(d *training.Diverged, cause error) error {
	run := s.cfg.Train.Run
	lower := fmt.Sprintf("--set optimizer.lr=%.3g", s.cfg.Optimizer.LR/10)
	again := fmt.Sprintf("`mdmhost train --config %s --run %s", filepath.Join(run, ConfigFile), unused(run))
	c, err := s.store.Before(d.State)
	switch {
	case errors.Is(err, checkpoint.ErrNone) && d.State == 0 && s.denoiser.model == nil:
		return fmt.Errorf("%w; nothing was learned yet, so that not the learning rate is to blame: look at the options of trainer %s and at the data", cause, s.trainer.description.Name)
	case errors.Is(err, checkpoint.ErrNone) && d.State == 0:
		return fmt.Errorf("%w; nothing was learned yet, so that not the learning rate is to blame: look at the options of trainer %s, at the data and at model %s", cause, s.trainer.description.Name, s.denoiser.model.Name)
	case errors.Is(err, checkpoint.ErrNone):
		return fmt.Errorf("%w; no checkpoint is sound: begin anew with a lower rate, %s %s`", cause, again, lower)
	case err != nil:
		return errors.Join(cause, err)
	}
	if err := s.writeModel(c); err != nil {
		return errors.Join(cause, err)
	}
	model := filepath.Join(run, ModelDir)
	return fmt.Errorf("%w; %s is the model of step %d: begin with it and a lower rate, %s --from %s %s`", cause, model, c.Manifest.Step, again, model, lower)
}

// unused is the name of a directory beside dir that is not there.
func unused(dir string) string {
	dir = filepath.Clean(dir)
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s-%d", dir, n)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// writeModel writes the model directory of a checkpoint: the moving average, where there is one.
func (s *session) writeModel(c *checkpoint.Checkpoint) error {
	name, d := s.product()
	values, err := valuesOf(c, name)
	if err != nil {
		return err
	}
	extra, err := s.schedule(c)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.cfg.Train.Run, ModelDir)
	if d.foreign != nil {
		return s.writeForeign(dir, d, values, extra, c.Manifest.Step)
	}
	m := network.ModelDir{Config: *d.config, Values: values, Tokenizer: s.data.Vocabulary.JSON, Special: s.special(),
		Manifest: s.finished(c.Manifest.Step), Generation: s.generation(), Export: network.ExportOptions{Precision: s.cfg.Train.Precision}, DType: safetensors.F32, Extra: extra,
		Linked: d.model != nil && len(d.model.Graph.External()) > 0} // as the model was that the run began with
	if s.cfg.Train.Precision == network.Float16 {
		m.DType = safetensors.F16
	}
	order, err := s.trainedOrder(c)
	if err == nil && order != nil {
		err = m.Put(order)
	}
	if err != nil {
		return err
	}
	return network.WriteModelDir(dir, m)
}

// writeForeign writes a model directory like the one that the run began with: the ONNX file with the learned values in it, the
// parameters, and everything else as it was.
func (s *session) writeForeign(dir string, d *denoiser, values map[string][]float32, extra []safetensors.Tensor, step int64) error {
	var ordered [][]float32
	var tensors []safetensors.Tensor
	for _, p := range d.Parameters() {
		ordered = append(ordered, values[p.Name])
		tensors = append(tensors, safetensors.Of(p.Name, p.Shape, values[p.Name]))
	}
	onnx, err := d.foreign.Export(ordered)
	if err != nil {
		return err
	}
	if s.cfg.Train.Precision == network.Float16 {
		if onnx, err = model.Half(onnx); err != nil {
			return err
		}
		for i := range tensors {
			if len(tensors[i].Shape) < 2 {
				continue
			}
			if tensors[i], err = tensors[i].To(safetensors.F16); err != nil {
				return err
			}
		}
	}
	tensors = append(tensors, extra...)
	var parameters bytes.Buffer
	if err := safetensors.Encode(&parameters, tensors, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	files := map[string][]byte{d.model.ONNXName: onnx.Encode(), "model.safetensors": parameters.Bytes()}
	if files["tokenizer.json"], err = d.model.ReadFile("tokenizer.json"); err != nil {
		return err
	}
	digests := map[string]string{} // of what nobody edits
	for name, text := range files {
		sum := sha256.Sum256(text)
		digests[name] = hex.EncodeToString(sum[:])
	}
	if files["config.json"], err = d.model.ReadFile("config.json"); err != nil {
		return err
	}
	if g := s.generation(); g != nil {
		if files["generation_config.json"], err = json.MarshalIndent(g, "", "  "); err != nil {
			return err
		}
	}
	m := s.finished(step)
	m.Time.Input, m.Gap = d.model.Manifest.Time.Input, d.model.Manifest.Gap
	m.Time.NoiseAt, m.Digests = d.model.Manifest.Time.NoiseAt, digests
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files["mdm.json"] = append(text, '\n')
	if m.Planner != nil {
		return model.WriteDir(dir, files, model.AsPlanner())
	}
	return model.WriteDir(dir, files)
}

// valuesOf reads a network's parameters out of a checkpoint.
func valuesOf(c *checkpoint.Checkpoint, name string) (_ network.Values, err error) {
	f, err := c.Open(parametersOf(c))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := network.Values{}
	for _, t := range f.Tensors() {
		if local, ok := strings.CutPrefix(t.Name, name+"."); ok {
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
		Trainer: &model.Trainer{Name: s.trainer.description.Name, Version: s.trainer.description.Version, Digest: s.trainer.digest, Steps: step, Options: s.trainer.options}}
	if m.Schedule.Kind == "" {
		m.Schedule.Kind = "linear" // what a trainer means that says nothing
	}
	if s.denoiser.grows() {
		empty := 0
		m.Family, m.Gap, m.Time.NoiseAt = "insertion", network.GapsEOS, &empty
	}
	m.Length = model.Length{Policy: "free", Cap: s.data.Train.Length()}
	if s.data.Spec.FixedColumn != "" {
		m.Length.Policy = "fixed"
	}
	if blanks := []rune(s.data.Spec.Blank); len(blanks) > 0 {
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

// generation is the model's generation_config.json: the settings of sampling that stand in the run's configuration, or that the
// model had which it began with.
func (s *session) generation() map[string]any {
	if name, _ := s.product(); name != spec.Denoiser {
		return nil
	}
	out := s.inherited()
	for _, e := range s.cfg.Entries() {
		section, rest, nested := strings.Cut(e.Key, ".")
		switch {
		case e.Note != "" || !s.cfg.Given(e.Key) || !slices.Contains(generationKeys, section):
		case !nested:
			out[section] = json.RawMessage(plainText(e.Value))
		default:
			inner, _ := out[section].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				out[section] = inner
			}
			inner[rest] = json.RawMessage(plainText(e.Value)) // flags are texts
		}
	}
	if s.denoiser.grows() {
		growing(out)
	}
	sampling, _ := out["sampling"].(map[string]any)
	if sampling == nil {
		sampling = map[string]any{}
		out["sampling"] = sampling
	}
	never := s.untaught()
	for _, id := range s.cfg.Sampling.SuppressTokens {
		never = append(never, int64(id))
	}
	slices.Sort(never)
	sampling["suppress_tokens"] = slices.Compact(never)
	return out
}

// growing adds what samples an insertion model where nobody says anything else.
func growing(out map[string]any) {
	sampler, _ := out["sampler"].(map[string]any)
	if sampler == nil {
		sampler = map[string]any{}
		out["sampler"] = sampler
	}
	if sampler["name"] == nil {
		sampler["name"] = "insertion"
	}
	if out["steps"] == nil {
		out["steps"] = 128
	}
}

// untaught are the tokens that the model never learned to leave alone, because the loss gave them no probability.
func (s *session) untaught() []int64 {
	return slices.DeleteFunc(slices.Clone(s.denoiser.suppress), func(id int64) bool { return id == int64(s.denoiser.mask) })
}
