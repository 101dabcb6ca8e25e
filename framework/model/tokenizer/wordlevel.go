package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// wordLevel looks whole pieces of text up in the vocabulary: words, characters, symbols or bytes, as the pre-tokenizer
// cuts them.
type wordLevel struct {
	*base
	plain, normalized matcher // added tokens, found before and after the normalizer
	normalize         func(string) string
	split             []splitter
}

func newWordLevel(f *file, b *base) (Tokenizer, error) {
	if b.kind != "WordLevel" {
		return nil, lacking("model type %q", b.kind)
	}
	if b.decode == nil {
		return nil, lacking("decoder %q", f.Decoder.Type)
	}
	w := &wordLevel{base: b}
	var err error
	if w.normalize, err = f.Normalizer.function(); err != nil {
		return nil, err
	}
	if w.split, err = f.PreTokenizer.splitters(); err != nil {
		return nil, err
	}
	var plain, normalized []addedToken
	for _, t := range f.AddedTokens {
		if t.Normalized {
			t.Content = w.normalize(t.Content)
			normalized = append(normalized, t)
		} else {
			plain = append(plain, t)
		}
	}
	w.plain, w.normalized = newMatcher(plain), newMatcher(normalized)
	return w, nil
}

// function returns the normalizer.
func (n *normalizerSpec) function() (func(string) string, error) {
	switch {
	case n == nil:
		return func(s string) string { return s }, nil
	case n.Type == "Lowercase":
		return lowercase, nil
	case n.Type == "Sequence":
		var chain []func(string) string
		for _, m := range n.Normalizers {
			f, err := m.function()
			if err != nil {
				return nil, err
			}
			chain = append(chain, f)
		}
		return func(s string) string {
			for _, f := range chain {
				s = f(s)
			}
			return s
		}, nil
	}
	return nil, lacking("normalizer %q", n.Type)
}

// lowercase maps character by character; U+0130 is the only one that becomes two.
func lowercase(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "İ", "i̇"))
}

// Encode implements [Tokenizer].
func (w *wordLevel) Encode(text string, special bool) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	var ids []int32
	for _, p := range w.plain.cut(text) {
		if p.id >= 0 {
			ids = append(ids, p.id)
			continue
		}
		for _, p := range w.normalized.cut(w.normalize(p.text)) {
			if p.id >= 0 {
				ids = append(ids, p.id)
				continue
			}
			var err error
			if ids, err = w.words(ids, p.text); err != nil {
				return nil, err
			}
		}
	}
	if special {
		return w.around(ids), nil
	}
	return ids, nil
}

// words splits a text without added tokens and appends the ids of its pieces.
func (w *wordLevel) words(ids []int32, text string) ([]int32, error) {
	if text == "" {
		return ids, nil
	}
	pieces := []string{text}
	for _, split := range w.split {
		var next []string
		for _, p := range pieces {
			next = append(next, split(p)...)
		}
		pieces = next
	}
	for _, p := range pieces {
		id, ok := w.ids[p]
		switch {
		case ok:
		case w.unknown < 0:
			return nil, fmt.Errorf("text: %q is not in the vocabulary, which has no token for unknown text; use only what it has", p)
		default:
			id = w.unknown
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// checkUTF8 refuses text that a vocabulary of characters would garble.
func checkUTF8(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return fmt.Errorf("text: is not UTF-8 at byte %d; convert it to UTF-8", at)
}
