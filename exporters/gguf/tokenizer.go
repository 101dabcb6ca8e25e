package gguf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/exporters"
)

// Types of tokens in GGUF.
const (
	tokenNormal  = 1
	tokenControl = 3
	tokenDefined = 4 // added, but not special
	tokenUnused  = 5
)

// bpe is what counts of a tokenizer.json whose model is byte-level BPE.
type bpe struct {
	Normalizer *struct {
		Type string `json:"type"`
	} `json:"normalizer"`
	PreTokenizer *splitter `json:"pre_tokenizer"`
	AddedTokens  []struct {
		ID      int    `json:"id"`
		Special bool   `json:"special"`
		Content string `json:"content"`
	} `json:"added_tokens"`
	Model struct {
		Type   string            `json:"type"`
		Vocab  json.RawMessage   `json:"vocab"`
		Merges []json.RawMessage `json:"merges"`
	} `json:"model"`
}

// splitter is a pre-tokenizer, or a sequence of them.
type splitter struct {
	Type     string `json:"type"`
	UseRegex *bool  `json:"use_regex"`
	Prefix   bool   `json:"add_prefix_space"`
	Pattern  struct {
		Regex string `json:"Regex"`
	} `json:"pattern"`
	Behavior      string     `json:"behavior"`
	Invert        bool       `json:"invert"`
	Pretokenizers []splitter `json:"pretokenizers"`
}

// The expressions that llama.cpp knows by the names of tokenizers that have them; what stands in tokenizer.json must be the same.
var expressions = map[string]string{
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: "llama-bpe",
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:      "qwen2",
}

// pre is llama.cpp's name of how text is cut before BPE.
func (b *bpe) pre() (string, error) {
	var parts []splitter
	if p := b.PreTokenizer; p != nil {
		if parts = []splitter{*p}; p.Type == "Sequence" {
			parts = p.Pretokenizers
		}
	}
	whole := func(s splitter) bool { return s.Type == "ByteLevel" && !s.Prefix }
	regex := func(s splitter) bool { return s.UseRegex == nil || *s.UseRegex }
	switch {
	case len(parts) == 1 && whole(parts[0]) && regex(parts[0]):
		return "gpt-2", nil
	case len(parts) == 2 && parts[0].Type == "Split" && strings.EqualFold(parts[0].Behavior, "isolated") && !parts[0].Invert && whole(parts[1]) && !regex(parts[1]):
		if name := expressions[parts[0].Pattern.Regex]; name != "" {
			return name, nil
		}
		return "", fmt.Errorf("tokenizer.json: text is cut by the expression %q, and llama.cpp knows expressions by name alone; expected that of GPT-2, Llama 3 or Qwen 2", parts[0].Pattern.Regex)
	}
	return "", fmt.Errorf("tokenizer.json: the pre-tokenizer has no name in llama.cpp; expected byte-level BPE as GPT-2, Llama 3 and Qwen 2 have it")
}

// vocabulary is the metadata of byte-level BPE. Ids without a token are unused ones.
func vocabulary(s *exporters.Source, text []byte) ([]entry, error) {
	var b bpe
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if b.Model.Type != "BPE" {
		return nil, fmt.Errorf("tokenizer.json: has the model %s, and llama.cpp reads vocabularies of byte-level BPE for these networks", b.Model.Type)
	}
	if b.Normalizer != nil && b.Normalizer.Type != "NFC" { // llama.cpp leaves text as it is; composed text is the same
		return nil, fmt.Errorf("tokenizer.json: the normalizer %s has no counterpart in llama.cpp", b.Normalizer.Type)
	}
	pre, err := b.pre()
	if err != nil {
		return nil, err
	}
	merges, err := b.merges()
	if err != nil {
		return nil, err
	}
	tokens, kinds := make([]string, s.Config.VocabSize), make([]int32, s.Config.VocabSize)
	for id := range tokens {
		if tokens[id], kinds[id] = s.Tokenizer.Token(int32(id)), tokenNormal; tokens[id] == "" {
			tokens[id], kinds[id] = fmt.Sprintf("[PAD%d]", id), tokenUnused
		}
	}
	for _, t := range b.AddedTokens {
		if t.ID < len(kinds) {
			if kinds[t.ID] = tokenDefined; t.Special {
				kinds[t.ID] = tokenControl
			}
		}
	}
	prefix, suffix := s.Tokenizer.Template()
	if len(prefix) > 1 || len(suffix) > 1 {
		return nil, fmt.Errorf("tokenizer.json: puts %d tokens before a text and %d behind it, and llama.cpp at most one on each side", len(prefix), len(suffix))
	}
	out := []entry{{"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.pre", pre}, {"tokenizer.ggml.tokens", tokens}, {"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.merges", merges}, {"tokenizer.ggml.mask_token_id", uint32(s.MaskID)},
		{"tokenizer.ggml.add_bos_token", len(prefix) == 1}, {"tokenizer.ggml.add_eos_token", len(suffix) == 1}}
	ids := []struct {
		key string
		id  int32
	}{{"bos", s.Model.Config.BOS}, {"eos", s.Model.Config.EOS}, {"padding", s.PadID}}
	for i, at := range [][]int32{prefix, suffix} {
		if len(at) == 1 {
			ids[i].id = at[0]
		}
	}
	for _, n := range ids {
		if n.id >= 0 && int(n.id) < len(tokens) {
			out = append(out, entry{"tokenizer.ggml." + n.key + "_token_id", uint32(n.id)})
		}
	}
	return out, nil
}

// merges are pairs with a space between, as older files have them.
func (b *bpe) merges() (out []string, err error) {
	for i, m := range b.Model.Merges {
		var whole string
		var pair []string
		if json.Unmarshal(m, &whole) != nil {
			if err := json.Unmarshal(m, &pair); err != nil || len(pair) != 2 || slices.ContainsFunc(pair, func(s string) bool { return strings.Contains(s, " ") }) {
				return nil, fmt.Errorf("tokenizer.json: merge %d is %s, expected two tokens", i, m)
			}
			whole = pair[0] + " " + pair[1]
		}
		out = append(out, whole)
	}
	return out, nil
}
