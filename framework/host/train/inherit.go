package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// inherit takes over from the model that the run begins with what the user does not give: network and tokenizer, settings of
// sampling. A setting of network or tokenizer that asks for others than the model's is an error.
func (s *session) inherit(from *model.Model) error {
	var problems config.Problems
	unlike := func(key string, given, own any) {
		problems = append(problems, config.Problem{Origin: s.cfg.Origin(key), Key: key,
			Text: fmt.Sprintf("is %v, and model %s, which the run begins with, has %v; leave it out, or begin without the model", given, from.Name, own)})
	}
	if !s.trainer.sizes() {
		if err := s.sameNetwork(from, unlike); err != nil {
			return err
		}
	}
	if err := s.sameTokenizer(from, unlike); err != nil {
		return err
	}
	if problems != nil {
		return problems
	}
	if from.GenerationConfig == nil {
		return nil
	}
	cfg, err := s.cfg.WithModel(from.Name+"/generation_config.json", from.GenerationConfig)
	if err == nil {
		s.cfg = cfg
	}
	return err
}

// sameNetwork holds the settings of the network against the model's config.json, whose keys are the same. 0 asks for nothing.
func (s *session) sameNetwork(from *model.Model, unlike func(key string, given, own any)) error {
	text, err := from.ReadFile("config.json")
	if err != nil {
		return err
	}
	var own map[string]any
	if err := json.Unmarshal(text, &own); err != nil {
		return fmt.Errorf("model %s: config.json: %w", from.Name, err)
	}
	if grid, ok := own["grid"].(map[string]any); ok {
		own["rows"], own["columns"] = grid["rows"], grid["cols"]
	}
	for _, e := range s.cfg.Entries() {
		name, ok := strings.CutPrefix(e.Key, "network.")
		if !ok || !s.cfg.Given(e.Key) || e.Value == 0 {
			continue
		}
		if value, ok := own[name]; !ok && reflect.ValueOf(e.Value).IsZero() {
			continue // config.json leaves it out
		} else if !ok {
			unlike(e.Key, e.Value, "its own")
		} else if fmt.Sprint(value) != fmt.Sprint(e.Value) {
			unlike(e.Key, e.Value, value)
		}
	}
	return nil
}

// sameTokenizer holds the settings of the tokenizer against the model's tokenizer.json.
func (s *session) sameTokenizer(from *model.Model, unlike func(key string, given, own any)) error {
	spec := s.cfg.Data
	file, err := tokenizerOf(from)
	if err != nil {
		return err
	}
	if s.cfg.Given("data.tokenizer") {
		same, err := makes(spec.Tokenizer, file)
		if err != nil {
			return config.Problems{{Origin: s.cfg.Origin("data.tokenizer"), Key: "data.tokenizer", Text: err.Error()}}
		}
		if !same {
			unlike("data.tokenizer", spec.Tokenizer, "another")
		}
	}
	prefix, suffix := from.Tokenizer.Template()
	for _, end := range []struct {
		key   string
		given bool
		own   bool
	}{{"data.bos", spec.BOS, len(prefix) > 0}, {"data.eos", spec.EOS, len(suffix) > 0}} {
		if s.cfg.Given(end.key) && end.given && !end.own {
			unlike(end.key, true, "no such token around its texts")
		}
	}
	return nil
}

// makes tells whether what data.tokenizer names is the tokenizer of a file: the same file, or the same rule of cutting texts up.
func makes(named string, file []byte) (bool, error) {
	var b *tokenizer.Builder
	switch named {
	case data.Characters:
		b = tokenizer.NewCharacters()
	case data.SMILES:
		b = tokenizer.NewSMILES()
	default:
		if info, err := os.Stat(named); err == nil && info.IsDir() {
			named = filepath.Join(named, "tokenizer.json")
		}
		text, err := os.ReadFile(named)
		return slices.Equal(text, file), err
	}
	if err := b.Add("C"); err != nil {
		return false, err
	}
	made, err := b.File(false, false)
	if err != nil {
		return false, err
	}
	var rules [2]struct {
		Normalizer any `json:"normalizer"`
		Split      any `json:"pre_tokenizer"`
	}
	err = errors.Join(json.Unmarshal(made, &rules[0]), json.Unmarshal(file, &rules[1]))
	return reflect.DeepEqual(rules[0], rules[1]), err
}

// ofModel says of lines that cannot be used whose vocabulary it is. m may be nil.
func ofModel(m *model.Model, err error) error {
	var bad *data.BadLinesError
	if m != nil && errors.As(err, &bad) {
		bad.Do = fmt.Sprintf("the vocabulary is that of model %s: %s", m.Name, bad.Do)
	}
	return err
}

// finished is the manifest of the finished model, with the blanks and the policy of length of the one that the run began with, where
// the data says nothing else.
func (s *session) finished(step int64) *model.Manifest {
	m, from := s.manifest(step), s.denoiser.model
	if name, d := s.product(); name != spec.Denoiser {
		m.Family, m.Planner, m.Infill = "planner", d.planner(), model.Infill{}
		return m
	}
	if from == nil {
		return m
	}
	if m.Infill.Blank == "" {
		m.Infill = from.Manifest.Infill
	}
	if s.data.Spec.FixedColumn == "" {
		m.Length.Policy = from.Manifest.Length.Policy
	}
	return m
}

// inherited is what generation_config.json of the model that the run began with says besides settings of mdmhost.
func (s *session) inherited() map[string]any {
	if s.denoiser.model == nil {
		return map[string]any{}
	}
	out := maps.Clone(s.denoiser.model.Generation)
	maps.DeleteFunc(out, func(key string, _ any) bool { return slices.Contains(generationKeys, key) })
	if out == nil {
		out = map[string]any{}
	}
	return out
}

// generationKeys are the settings of sampling that a generation_config.json holds.
var generationKeys = []string{"planner", "sampler", "sampling", "steps", "length"}
