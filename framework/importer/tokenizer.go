package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// words is a model's tokenizer and what of its tokens are special.
type words struct {
	file    []byte   // tokenizer.json
	read    []string // paths
	special network.Special
}

// tokenizerConfig is tokenizer_config.json, as far as it counts here.
type tokenizerConfig struct {
	Class  string            `json:"tokenizer_class"`
	Lower  *bool             `json:"do_lower_case"`
	Strip  *bool             `json:"strip_accents"`
	Han    *bool             `json:"tokenize_chinese_chars"`
	tokens map[string]string // by what they are for: "mask_token"
}

func readTokenizer(dir, given string, r *family.Recipe) (*words, error) {
	w := &words{}
	path := given
	if path == "" {
		path = filepath.Join(dir, "tokenizer.json")
	}
	about, err := w.config(filepath.Join(dir, "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	w.file, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && given == "":
		if w.file, err = w.fromVocabulary(dir, about); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		w.read = append(w.read, path)
	}
	t, err := tokenizer.Parse(path, w.file)
	if err != nil {
		return nil, err
	}
	if t.Size() > r.Config.VocabSize {
		return nil, fmt.Errorf("%s: has %d ids, and vocab_size of config.json is %d; take the tokenizer of this model", path, t.Size(), r.Config.VocabSize)
	}
	w.special = settle(t, r, about.tokens)
	if w.special.Mask < 0 {
		return nil, fmt.Errorf("%s: has no one mask token such as [MASK], and neither config.json nor tokenizer_config.json names one; add mask_token_id to config.json", path)
	}
	return w, nil
}

// settle finds the special tokens: as config.json says, else as tokenizer_config.json does, else by their spelling, else by the family.
func settle(t tokenizer.Tokenizer, r *family.Recipe, named map[string]string) network.Special {
	s, spelt := r.Special, network.SpecialOf(t)
	for _, one := range []struct {
		id    *int32
		names []string
		spelt int32
	}{{&s.Mask, []string{"mask_token"}, spelt.Mask}, {&s.Pad, []string{"pad_token"}, spelt.Pad},
		{&s.BOS, []string{"bos_token", "cls_token"}, spelt.BOS}, {&s.EOS, []string{"eos_token", "sep_token"}, spelt.EOS}} {
		for _, name := range one.names {
			if id, ok := t.ID(named[name]); ok && named[name] != "" && *one.id < 0 {
				*one.id = id
			}
		}
		if *one.id < 0 {
			*one.id = one.spelt
		}
	}
	if s.Mask < 0 {
		s.Mask = r.Mask
	}
	return s
}

// config reads a tokenizer_config.json, which may be missing.
func (w *words) config(path string) (c tokenizerConfig, err error) {
	c.tokens = map[string]string{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(text, &all), json.Unmarshal(text, &c)); err != nil {
		return c, fmt.Errorf("%s: %w; download it again", path, err)
	}
	w.read = append(w.read, path)
	for name, raw := range all {
		var spelt string
		var token struct{ Content string }
		switch {
		case !strings.HasSuffix(name, "_token"):
		case json.Unmarshal(raw, &spelt) == nil:
			c.tokens[name] = spelt
		case json.Unmarshal(raw, &token) == nil: // {"content": "[MASK]", ...}
			c.tokens[name] = token.Content
		}
	}
	return c, nil
}
