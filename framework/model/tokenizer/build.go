package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// The spellings of the special tokens of tokenizers that are made from data.
const (
	Pad   = "[PAD]"
	Mask  = "[MASK]"
	Begin = "[BOS]"
	End   = "[EOS]"
)

// The patterns of the pre-tokenizers that are written.
const (
	characterPattern = `[\s\S]`
	// One atom, bond, branch or ring closure each: the regular expression of Schwaller et al., "Molecular Transformer", 2019,
	// with the three-digit ring closures of rxnmapper.
	smilesPattern = `\%\([0-9]{3}\)|\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\||\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|\%[0-9]{2}|[0-9]`
)

// Builder makes a tokenizer from data: it collects the symbols of texts, and writes them as a tokenizer.json that this
// package and the Hugging Face library read alike (WordLevel, a Split pre-tokenizer, the Fuse decoder: decoding gives the
// text back).
type Builder struct {
	pattern string
	split   *regexp.Regexp // nil: characters
	seen    map[string]struct{}
}

// NewCharacters starts a tokenizer whose symbols are single characters (Unicode code points).
func NewCharacters() *Builder {
	return &Builder{pattern: characterPattern, seen: map[string]struct{}{}}
}

// NewSMILES starts a tokenizer of molecules in SMILES notation, whose symbols are atoms, bonds, branches and ring closures.
func NewSMILES() *Builder {
	re, err := compile(smilesPattern)
	if err != nil {
		panic(err) // the pattern is a constant, and a test reads it
	}
	return &Builder{pattern: smilesPattern, split: re, seen: map[string]struct{}{}}
}

// Add collects the symbols of a text. A text that is not UTF-8, or of which a part is no symbol, is an error and adds
// nothing.
func (b *Builder) Add(text string) error {
	if err := checkUTF8(text); err != nil {
		return err
	}
	if b.split == nil {
		for _, piece := range characters(text) {
			b.seen[piece] = struct{}{}
		}
		return nil
	}
	pieces := spans(b.split, text, false)
	for i, p := range pieces {
		if !p.match {
			before := 0
			for _, q := range pieces[:i] {
				before += utf8.RuneCountInString(q.text)
			}
			return fmt.Errorf("text: %q at character %d is no symbol of SMILES; correct it", p.text, before+1)
		}
	}
	for _, p := range pieces {
		b.seen[p.text] = struct{}{}
	}
	return nil
}

// File returns the tokenizer.json. Ids are the symbols in the order of their code points, then [PAD] and [MASK], then
// [BOS] and [EOS] where they are asked for; those are put around a text as the file's post-processor says. There is no
// unknown token: text that the data did not have is refused. Without any symbol, and with a symbol that is spelt like a
// special token, it returns an error.
func (b *Builder) File(begin, end bool) ([]byte, error) {
	tokens := slices.Sorted(maps.Keys(b.seen))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("tokenizer: no symbol was seen; give it text")
	}
	specials := []string{Pad, Mask}
	if begin {
		specials = append(specials, Begin)
	}
	if end {
		specials = append(specials, End)
	}
	out := written{Version: "1.0", PreTokenizer: writtenSplit{"Split", map[string]string{"Regex": b.pattern}, "Isolated", false},
		Decoder: map[string]string{"type": "Fuse"}, Model: writtenModel{"WordLevel", nil, "[UNK]"}}
	for i, s := range specials {
		if _, taken := b.seen[s]; taken {
			return nil, fmt.Errorf("tokenizer: the data has the symbol %s, which is a special token; take it out", s)
		}
		out.AddedTokens = append(out.AddedTokens, addedToken{ID: int64(len(tokens) + i), Content: s, Special: true})
	}
	out.Model.Vocab = append(tokens, specials...)
	if begin || end {
		out.PostProcessor = around(out.AddedTokens[2:], begin, end)
	}
	var file bytes.Buffer
	e := json.NewEncoder(&file)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return file.Bytes(), err
}

// written is a tokenizer.json as the Hugging Face library writes it.
type written struct {
	Version       string            `json:"version"`
	Truncation    *struct{}         `json:"truncation"`
	Padding       *struct{}         `json:"padding"`
	AddedTokens   []addedToken      `json:"added_tokens"`
	Normalizer    *struct{}         `json:"normalizer"`
	PreTokenizer  writtenSplit      `json:"pre_tokenizer"`
	PostProcessor any               `json:"post_processor"`
	Decoder       map[string]string `json:"decoder"`
	Model         writtenModel      `json:"model"`
}

type writtenSplit struct {
	Type     string            `json:"type"`
	Pattern  map[string]string `json:"pattern"`
	Behavior string            `json:"behavior"`
	Invert   bool              `json:"invert"`
}

type writtenModel struct {
	Type     string  `json:"type"`
	Vocab    ordered `json:"vocab"`
	UnkToken string  `json:"unk_token"`
}

// ordered is a vocabulary whose ids are the places in the list; it is written as an object in this order.
type ordered []string

// MarshalJSON implements [json.Marshaler].
func (o ordered) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for id, token := range o {
		key, err := json.Marshal(token)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%c%s:%d", "{,"[min(id, 1)], key, id)
	}
	return append(out.Bytes(), '}'), nil
}

// around is the post-processor that puts the first and the last of specials around a text.
func around(specials []addedToken, begin, end bool) any {
	type object = map[string]any
	text := func(id string, kind int) object { return object{"Sequence": object{"id": id, "type_id": kind}} }
	single, known := []object{text("A", 0)}, object{}
	for _, s := range specials {
		known[s.Content] = object{"id": s.Content, "ids": []int64{s.ID}, "tokens": []string{s.Content}}
	}
	special := func(s string) object { return object{"SpecialToken": object{"id": s, "type_id": 0}} }
	if begin {
		single = append([]object{special(Begin)}, single...)
	}
	if end {
		single = append(single, special(End))
	}
	return object{"type": "TemplateProcessing", "single": single, "pair": []object{text("A", 0), text("B", 1)}, "special_tokens": known}
}
