package tokenizer

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// maxID bounds token ids, so that one absurd id cannot exhaust memory. Real vocabularies stay below 1.1 million.
const maxID = 1<<22 - 1

// vocabulary maps ids to spellings and back.
type vocabulary struct {
	ids     map[string]int32
	tokens  []string // [Size], "" where an id has no token
	known   []bool   // [Size]
	special []bool   // [Size]
	added   []bool   // [Size]
	mask    int32    // -1: none, or more than one
	unknown int32    // -1: none
}

// maskSpelling is how mask tokens look: one bracket or bar on each side, such as [MASK], <mask>, <|mask|>, <|mdm_mask|>.
var maskSpelling = regexp.MustCompile(`^(?i)[\[<{(|]+_?(mdm_?)?mask_?(ed)?[\]>})|]+$`)

func newVocabulary(m *modelSpec, added []addedToken) (*vocabulary, error) {
	v := &vocabulary{mask: -1, unknown: -1}
	entries, err := m.entries()
	if err != nil {
		return nil, err
	}
	v.ids = make(map[string]int32, len(entries)+len(added))
	v.tokens = make([]string, 0, len(entries)+len(added))
	for token, id := range entries {
		if err := v.set(token, id); err != nil {
			return nil, fmt.Errorf("model.vocab: %w", err)
		}
	}
	next := int64(len(entries))
	for _, a := range added {
		if a.Content == "" {
			return nil, fmt.Errorf("added_tokens: id %d has an empty content; remove it", a.ID)
		}
		switch id, ok := v.ids[a.Content]; {
		case ok && int64(id) != a.ID:
			return nil, fmt.Errorf("added_tokens: %q has id %d, but id %d in model.vocab; make them agree", a.Content, a.ID, id)
		case !ok && a.ID != next:
			// The Hugging Face library would number it anew, so the file and the model would disagree.
			return nil, fmt.Errorf("added_tokens: %q has id %d, expected %d, the next free id after model.vocab; renumber it", a.Content, a.ID, next)
		case !ok:
			if err := v.set(a.Content, a.ID); err != nil {
				return nil, fmt.Errorf("added_tokens: %w", err)
			}
			next++
		}
		v.added[a.ID] = true
		v.special[a.ID] = v.special[a.ID] || a.Special
	}
	v.findMask()
	return v, v.findUnknown(m)
}

// entries lists the model's vocabulary: an object of ids, or for Unigram an array of [token, score].
func (m *modelSpec) entries() (map[string]int64, error) {
	var entries map[string]int64
	if m.kind() != "Unigram" {
		if err := json.Unmarshal(m.Vocab, &entries); err != nil {
			return nil, fmt.Errorf("model.vocab: is not an object of token ids: %w", err)
		}
	} else {
		var pairs [][]any
		if err := json.Unmarshal(m.Vocab, &pairs); err != nil {
			return nil, fmt.Errorf("model.vocab: is not an array of [token, score]: %w", err)
		}
		entries = make(map[string]int64, len(pairs))
		for i, p := range pairs {
			token, ok := "", false
			if len(p) == 2 {
				token, ok = p[0].(string)
			}
			if !ok {
				return nil, fmt.Errorf("model.vocab: entry %d is not [token, score]", i)
			}
			entries[token] = int64(i)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("model.vocab: is empty, expected at least one token")
	}
	return entries, nil
}

func (v *vocabulary) set(token string, id int64) error {
	if id < 0 || id > maxID {
		return fmt.Errorf("token %q has id %d, expected 0 to %d", token, id, maxID)
	}
	if more := int(id) + 1 - len(v.tokens); more > 0 {
		v.tokens, v.known = append(v.tokens, make([]string, more)...), append(v.known, make([]bool, more)...)
		v.special, v.added = append(v.special, make([]bool, more)...), append(v.added, make([]bool, more)...)
	}
	if v.known[id] {
		return fmt.Errorf("tokens %q and %q share id %d; every token needs its own", min(v.tokens[id], token), max(v.tokens[id], token), id)
	}
	v.ids[token], v.tokens[id], v.known[id] = int32(id), token, true
	return nil
}

// findMask looks among the added tokens first, and at the rest of the vocabulary where none of them is a mask.
func (v *vocabulary) findMask() {
	for _, added := range []bool{true, false} {
		n := 0
		for id, token := range v.tokens {
			if v.known[id] && v.added[id] == added && maskSpelling.MatchString(token) {
				v.mask = int32(id)
				n++
			}
		}
		if n == 1 {
			return
		}
		v.mask = -1
		if n > 1 {
			return
		}
	}
}

// findUnknown checks the unknown token, without which the Rust library would lose text in silence.
func (v *vocabulary) findUnknown(m *modelSpec) error {
	token := m.UnkToken
	if token == nil {
		switch m.kind() {
		case "Unigram":
			if m.UnkID != nil && (*m.UnkID < 0 || *m.UnkID >= int64(len(v.tokens))) {
				return fmt.Errorf("model.unk_id: %d is no id of the vocabulary, expected 0 to %d", *m.UnkID, len(v.tokens)-1)
			}
			if m.UnkID != nil {
				v.unknown = int32(*m.UnkID)
			}
			return nil
		case "WordLevel":
			token = new("<unk>") // the default of the format
		case "WordPiece":
			token = new("[UNK]")
		default:
			return nil
		}
	}
	id, ok := v.ids[*token]
	switch {
	case ok:
		v.unknown = id
	case m.kind() != "WordLevel": // WordLevel reports the text that it cannot encode
		return fmt.Errorf("model.unk_token: %q is not in the vocabulary; add it, or name a token that is", *token)
	}
	return nil
}

// in tells whether the id has a token.
func (v *vocabulary) in(id int32) bool { return id >= 0 && int(id) < len(v.tokens) && v.known[id] }

// Token implements [Tokenizer].
func (v *vocabulary) Token(id int32) string {
	if !v.in(id) {
		return ""
	}
	return v.tokens[id]
}

// ID implements [Tokenizer].
func (v *vocabulary) ID(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Size implements [Tokenizer].
func (v *vocabulary) Size() int { return len(v.tokens) }

// Special implements [Tokenizer].
func (v *vocabulary) Special(id int32) bool { return v.in(id) && v.special[id] }

// Added implements [Tokenizer].
func (v *vocabulary) Added(id int32) bool { return v.in(id) && v.added[id] }

// Mask implements [Tokenizer].
func (v *vocabulary) Mask() (int32, bool) { return v.mask, v.mask >= 0 }

// Unknown implements [Tokenizer].
func (v *vocabulary) Unknown() (int32, bool) { return v.unknown, v.unknown >= 0 }

// spellings lists the tokens of a row, without special ones if skip is set.
func (v *vocabulary) spellings(ids []int32, skip bool) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if v.in(id) && !(skip && v.special[id]) {
			out = append(out, v.tokens[id])
		}
	}
	return out
}
