package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// file is a tokenizer.json. Components that come in several types are unions: Type says which fields count.
type file struct {
	AddedTokens   []addedToken     `json:"added_tokens"`
	Normalizer    *normalizerSpec  `json:"normalizer"`
	PreTokenizer  *splitterSpec    `json:"pre_tokenizer"`
	PostProcessor *processorSpec   `json:"post_processor"`
	Decoder       *decoderSpec     `json:"decoder"`
	Model         *modelSpec       `json:"model"`
	Truncation    *json.RawMessage `json:"truncation"`
	Padding       *json.RawMessage `json:"padding"`
}

// addedToken is matched in the text before it is split: before the normalizer, or after it where Normalized is set.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only where no word character touches it
	Lstrip     bool   `json:"lstrip"`      // takes the white space before it along
	Rstrip     bool   `json:"rstrip"`      // and after it
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type normalizerSpec struct {
	Type        string            `json:"type"`
	Normalizers []*normalizerSpec `json:"normalizers"`
}

type splitterSpec struct {
	Type           string `json:"type"`
	Pattern        *patternSpec
	Behavior       string          `json:"behavior"`
	Invert         bool            `json:"invert"`
	AddPrefixSpace bool            `json:"add_prefix_space"`
	UseRegex       *bool           `json:"use_regex"`
	Pretokenizers  []*splitterSpec `json:"pretokenizers"`
}

type patternSpec struct{ String, Regex *string }

type processorSpec struct {
	Type          string                     `json:"type"`
	Single        []templatePiece            `json:"single"`
	SpecialTokens map[string]templateSpecial `json:"special_tokens"`
	Sep, Cls      json.RawMessage            // ["[SEP]", 13] of BertProcessing and RobertaProcessing
	Processors    []*processorSpec           `json:"processors"`
}

type templatePiece struct {
	SpecialToken *struct{ ID string }
	Sequence     *struct{ ID string }
}

type templateSpecial struct {
	IDs []int64 `json:"ids"`
}

type decoderSpec struct {
	Type    string `json:"type"`
	Prefix  string `json:"prefix"`
	Cleanup *bool  `json:"cleanup"`
}

type modelSpec struct {
	Type     string          `json:"type"`
	Vocab    json.RawMessage `json:"vocab"`
	UnkToken *string         `json:"unk_token"`
	UnkID    *int64          `json:"unk_id"`
	Merges   json.RawMessage `json:"merges"`
}

// kind is the model type; very old files leave it out and are known by their fields.
func (m *modelSpec) kind() string {
	switch {
	case m.Type != "":
		return m.Type
	case len(m.Merges) > 0:
		return "BPE"
	}
	return "WordLevel"
}

// base reads what every kind of tokenizer shares: vocabulary, template and decoder.
func (f *file) base() (*base, error) {
	if f.Model == nil || len(f.Model.Vocab) == 0 {
		return nil, errors.New("has no model.vocab, expected a Hugging Face tokenizer.json; save the tokenizer with `tokenizer.save(\"tokenizer.json\")`")
	}
	v, err := newVocabulary(f.Model, f.AddedTokens)
	if err != nil {
		return nil, err
	}
	t, err := f.PostProcessor.template(v)
	if err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	return &base{vocabulary: v, template: t, kind: f.Model.kind(), decode: f.Decoder.decoder()}, nil
}

// base is embedded by every tokenizer.
type base struct {
	*vocabulary
	template
	kind   string
	decode func(tokens []string) string // nil: only the Rust library has this decoder
}

// Kind implements [Tokenizer].
func (b *base) Kind() string { return b.kind }

// Decode implements [Tokenizer].
func (b *base) Decode(ids []int32, skipSpecial bool) string {
	return b.decode(b.spellings(ids, skipSpecial))
}
