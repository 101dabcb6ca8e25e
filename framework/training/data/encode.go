package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// encoder turns records into ids.
type encoder struct {
	*Vocabulary
	spec           *Spec
	prefix, suffix []int32
	unknown        int32    // -1: none
	refused        []string // by id: what a token is that no text may hold, "" for the others
}

// newEncoder encodes as s says. Texts may hold neither what o refuses nor the mask and the padding that the tokenizer has, unless
// it puts them around every text and o does not refuse those.
func newEncoder(v *Vocabulary, s *Spec, o Options) *encoder {
	e := &encoder{Vocabulary: v, spec: s, unknown: -1, refused: make([]string, v.Size())}
	if format, _ := s.kind(); format != Text {
		e.prefix, e.suffix = v.Template()
	}
	if id, ok := v.Mask(); ok {
		e.refused[id] = "mask"
	}
	if id, ok := padding(v); ok {
		e.refused[id] = "padding"
	}
	for id, what := range o.Refused {
		if id >= 0 && int(id) < len(e.refused) {
			e.refused[id] = what
		}
	}
	prefix, suffix := v.Template()
	for _, id := range slices.Concat(prefix, suffix) {
		if e.refused[id] = ""; o.Ends {
			e.refused[id] = "end"
		}
	}
	if id, ok := v.Unknown(); ok && s.Unknown == Error {
		e.unknown = id
	}
	return e
}

// fixes tells whether rows have positions that are given.
func (e *encoder) fixes() bool {
	return e.spec.Layout == Padded && len(e.prefix)+len(e.suffix)+len(e.spec.FixedColumn)+len(e.spec.PromptColumn) > 0
}

// text encodes a text alone. Text that spells out the mask or the padding is unfit, and so is text that the tokenizer does
// not know.
func (e *encoder) text(text string) ([]int32, error) {
	ids, err := e.Encode(text, false)
	if err != nil {
		return nil, unfit{fmt.Errorf("%w%s", err, e.normalize())}
	}
	for _, id := range ids {
		switch {
		case int(id) < len(e.refused) && e.refused[id] != "":
			return nil, unfit{fmt.Errorf("has the %s %s, which data must not have; take it out", e.refused[id], e.Token(id))}
		case id == e.unknown:
			return nil, unfit{fmt.Errorf("%q is not in the vocabulary; add it, or set data.unknown to keep%s", e.stranger(text), e.normalize())}
		}
	}
	return ids, nil
}

// normalize is the end of a message about text that the tokenizer does not know, when it was made of normalised text.
func (e *encoder) normalize() string {
	if e.spec.Normalize == None && e.letters() {
		return "; it has lower-case letters and spaces alone: set data.normalize to text27"
	}
	return ""
}

// letters tells whether the vocabulary is made of the symbols of text27.
func (e *encoder) letters() bool {
	n := 0
	for id := range int32(e.Size()) {
		switch t := e.Token(id); {
		case e.Special(id) || t == "":
		case len(t) == 1 && (t == " " || t >= "a" && t <= "z"):
			n++
		default:
			return false
		}
	}
	return n > 20
}

// stranger finds the first word of a text that the tokenizer does not know, or the first such character of it where
// characters are the tokens.
func (e *encoder) stranger(text string) string {
	for word := range strings.FieldsSeq(text) {
		ids, err := e.Encode(word, false)
		at := slices.Index(ids, e.unknown)
		switch {
		case err != nil || at < 0:
		case len(ids) == utf8.RuneCountInString(word):
			return string([]rune(word)[at])
		default:
			return clip(word)
		}
	}
	return clip(text)
}

// stream encodes a part of a packed stream, with the special tokens of records around it.
func (e *encoder) stream(text string) ([]int32, error) {
	ids, err := e.text(text)
	if err != nil || len(e.prefix)+len(e.suffix) == 0 {
		return ids, err
	}
	return slices.Concat(e.prefix, ids, e.suffix), nil
}

// row encodes a record as a padded row: ids [n], and fixed [n] or nil if nothing is.
func (e *encoder) row(rec record) (ids []int32, fixed []bool, err error) {
	text, err := e.text(rec.text)
	if err != nil {
		return nil, nil, err
	}
	var prompt []int32
	if e.spec.PromptColumn != "" && rec.other != "" {
		if prompt, err = e.text(rec.other); err != nil {
			return nil, nil, err
		}
	}
	ids = slices.Concat(e.prefix, prompt, text, e.suffix)
	if len(ids) == 0 {
		return nil, nil, unfit{errors.New("is a row without any token; give it an end with data.eos, or set data.empty to error")}
	}
	if !e.fixes() {
		return ids, nil, nil
	}
	fixed = make([]bool, len(ids))
	start := len(e.prefix) + len(prompt)
	for i := range fixed {
		fixed[i] = i < start || i >= start+len(text)
	}
	if e.spec.FixedColumn != "" {
		if err := e.givens(fixed[start:start+len(text)], rec.other); err != nil {
			return nil, nil, err
		}
	}
	if rec.text != "" && !slices.Contains(fixed, false) {
		return nil, nil, unfit{errors.New("every position is fixed, which leaves nothing to learn; look whether the columns are the right ones")}
	}
	return ids, fixed, nil
}

// givens marks the positions that the fixed column gives.
func (e *encoder) givens(fixed []bool, column string) error {
	if n := utf8.RuneCountInString(column); n != len(fixed) {
		return unfit{fmt.Errorf("%s: expected %d characters, one for each token of %s, found %d", e.spec.FixedColumn, len(fixed), e.spec.Column, n)}
	}
	i := 0
	for _, r := range column {
		fixed[i] = !strings.ContainsRune(e.spec.Blank, r)
		i++
	}
	return nil
}
