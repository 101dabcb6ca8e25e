package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/wholefile"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

// control are the keys of the section train that may change when a run goes on: they do not change what it computes.
var control = []string{"train.run", "train.name", "train.minutes", "train.eval_every", "train.eval_rows", "train.patience", "train.checkpoint_every", "train.keep",
	"train.log_every", "train.precision", "train.infill_blank"}

// paths are the settings that name files. Each tells which of its values do: the others are names of something else.
var paths = map[string]func(value string) bool{
	"data.train": anyPath, "data.valid": anyPath, "data.prepared": anyPath,
	"data.tokenizer":     func(v string) bool { return v != data.Characters && v != data.SMILES },
	"train.from":         func(v string) bool { return !slices.Contains(model.Embedded(), v) },
	"train.planner_from": func(v string) bool { return !slices.Contains(model.Embedded(), v) },
	"trainer.name":       registry.IsPath,
}

func anyPath(string) bool { return true }

// binding are the settings that a run computes with, and that stay as they were when it goes on. Paths are absolute, so that
// it goes on from any working directory. Of the section data, a prepared directory has decided nearly everything.
func binding(cfg *config.Config) map[string]any {
	out := map[string]any{}
	for _, e := range cfg.Entries() {
		section, _, _ := strings.Cut(e.Key, ".")
		switch {
		case e.Note != "" || !slices.Contains([]string{"network", "order", "data", "trainer", "optimizer", "train"}, section) || slices.Contains(control, e.Key):
		case cfg.Train.From != "" && (section == "network" || section == "order") && !cfg.Given(e.Key): // the model's, or those of a planner
		case cfg.Train.From != "" && (slices.Contains([]string{"data.tokenizer", "data.bos", "data.eos"}, e.Key)): // the model's
		case section == "data" && cfg.Data.Prepared != "" && !slices.Contains([]string{"data.prepared", "data.length", "data.shuffle"}, e.Key):
		default:
			out[e.Key] = absolute(e.Key, e.Value)
		}
	}
	return out
}

// absolute is the value of a setting with absolute paths.
func absolute(key string, value any) any {
	is := paths[key]
	if is == nil {
		return value
	}
	one := func(v string) string {
		if path, err := filepath.Abs(v); err == nil && v != "" && is(v) {
			return path
		}
		return v
	}
	switch v := value.(type) {
	case string:
		return one(v)
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = one(v[i])
		}
		return out
	}
	return value
}

// settle finds the seed of the run, and holds the settings against those that the run was begun with. A run without a
// checkpoint is still a new one.
func (s *session) settle() (err error) {
	path := filepath.Join(s.cfg.Train.Run, ConfigFile)
	_, _, none := checkpoint.Latest(s.cfg.Train.Run)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(none, checkpoint.ErrNone) {
		s.seed, err = s.firstSeed()
		return err
	}
	if err != nil {
		return err
	}
	var before map[string]any
	if err := yaml.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("%s: %w; restore it, or name another run directory", path, err)
	}
	seed, ok := before["seed"].(int)
	if !ok || seed < 0 {
		return fmt.Errorf("%s: has no seed, expected the settings of a run; restore it, or name another run directory", path)
	}
	if s.seed = uint64(seed); s.cfg.Seed != nil && *s.cfg.Seed != s.seed {
		return fmt.Errorf("run %s: was begun with seed %d, found %d (%s); leave --seed out, or name another run directory", s.cfg.Train.Run, s.seed, *s.cfg.Seed, s.cfg.Origin("seed"))
	}
	s.begun = true
	return s.compare(before)
}

func (s *session) firstSeed() (uint64, error) {
	if s.cfg.Seed != nil {
		return *s.cfg.Seed, nil
	}
	return drawSeed()
}

// compare lists every setting that is not as it was.
func (s *session) compare(before map[string]any) error {
	now := binding(s.cfg)
	var changed []string
	for _, key := range sortedKeys(now) {
		if was, is := plainText(before[key]), plainText(now[key]); was != is {
			changed = append(changed, fmt.Sprintf("\n  %s: was %s, is %s (%s)", key, was, is, s.cfg.Origin(key)))
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("run %s: was begun with other settings; go on with those, or name another run directory%s", s.cfg.Train.Run, strings.Join(changed, ""))
	}
	return nil
}

// plainText is a value as JSON, which is the same for the numbers of a file and of a flag.
func plainText(v any) string {
	if t, ok := v.(config.Text); ok {
		var typed any
		if yaml.Unmarshal([]byte(t), &typed) == nil {
			v = typed
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// writeSettings writes the settings of the run, which `--config` reads, too, and the digests of its data.
func (s *session) writeSettings() error {
	if err := s.writeSums(); err != nil {
		return err
	}
	path := filepath.Join(s.cfg.Train.Run, ConfigFile)
	all := binding(s.cfg)
	for key, v := range all {
		var typed any
		if err := json.Unmarshal([]byte(plainText(v)), &typed); err != nil {
			return fmt.Errorf("%s: %s: %w", path, key, err)
		}
		all[key] = typed
	}
	all["seed"] = s.seed
	text, err := yaml.Marshal(all)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeFile(path, text)
}

// digest is what binds checkpoints to the settings and the data of their run.
func (s *session) digest() string {
	all := binding(s.cfg)
	all["seed"], all["tokenizer"], all["sources"] = s.seed, s.data.Vocabulary.Digest(), s.sums()
	h := sha256.New()
	for _, key := range sortedKeys(all) {
		fmt.Fprintf(h, "%s=%s\n", key, plainText(all[key]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeFile writes a small file whole or not at all.
func writeFile(path string, text []byte) error {
	if err := wholefile.ReplaceBytes(path, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
