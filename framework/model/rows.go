package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrNoLength is the error of a row whose length nobody gave and nothing bounds.
var ErrNoLength = errors.New("the model names no longest row; give the number of positions with --length")

// Row is one row to sample.
type Row struct {
	Tokens []int32 // [L] mask id = blank; special tokens included, padding not
	Fixed  []bool  // [L] what was given: everything but the blanks
	// Unknown lists the positions of text that the vocabulary lacks: the row holds the unknown token there.
	Unknown []int
	// Completed counts the blanks that were put after an infill text because the model's rows have one length.
	Completed int

	// Of insertion models, else nil and 0: the gaps [L+1] that never grow, and the most positions that the row may have (0: the
	// model's longest row).
	FrozenGap []bool
	Cap       int
}

// Opens tells whether something may be written: a blank, or a gap that may grow.
func (r Row) Opens() bool { return r.Blanks() > 0 || slices.Contains(r.FrozenGap, false) }

// Blanks counts the blanks.
func (r Row) Blanks() int {
	n := 0
	for _, fixed := range r.Fixed {
		if !fixed {
			n++
		}
	}
	return n
}

// EncodeInfill makes a row of text with blanks: the mask token's own text, and the symbols of mdm.json's infill. The
// tokenizer's special tokens are put around it. Where the model's rows have one length, what follows a shorter text is blank. In
// an insertion model's row a run of blanks is a place where text may grow, and where nothing stands at the start.
func (m *Model) EncodeInfill(text string) (Row, error) {
	segments := m.segments(text)
	ids, err := m.withBlanks(segments)
	if err != nil {
		return Row{}, fmt.Errorf("infill: %w", err)
	}
	if got := count(ids, m.MaskID); got != len(segments)-1 {
		return Row{}, fmt.Errorf("infill: the tokenizer reads %d of %d blanks in %q; write %s as a word of its own", got, len(segments)-1, clip(text), m.MaskText())
	}
	if m.Insertion() {
		row, err := m.grow(m.around(ids))
		if err != nil {
			return Row{}, fmt.Errorf("infill: %w", err)
		}
		return row, nil
	}
	completed := 0
	if m.Manifest.Length.Policy == "fixed" && len(ids) > 0 {
		completed = max(m.Manifest.Length.Cap-len(m.around(ids)), 0)
		ids = append(ids, slices.Repeat([]int32{m.MaskID}, completed)...)
	}
	row, err := m.row(m.around(ids))
	if err != nil {
		return Row{}, fmt.Errorf("infill: %w", err)
	}
	row.Completed = completed
	return row, nil
}

// segments cuts infill text at its blanks.
func (m *Model) segments(text string) []string {
	var out []string
	for _, part := range strings.Split(text, m.MaskText()) {
		part = m.symbols.Replace(part)
		if blank := m.Manifest.Infill.Blank; blank != "" {
			part = strings.ReplaceAll(part, blank, m.MaskText())
		}
		out = append(out, strings.Split(part, m.MaskText())...)
	}
	return out
}

// withBlanks encodes segments with a blank between each two. Where the tokenizer knows the mask as an added token, it
// reads the whole text at once, as white space beside the mask may matter.
func (m *Model) withBlanks(segments []string) ([]int32, error) {
	if m.Tokenizer.Added(m.MaskID) {
		return m.Tokenizer.Encode(strings.Join(segments, m.MaskText()), false)
	}
	var all []int32
	for i, s := range segments {
		ids, err := m.Tokenizer.Encode(s, false)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, m.MaskID)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// EncodePrompt makes a row that begins with a text and goes on with generate blanks; special tokens are put around and
// not counted. With generate 0 it takes as many as the model's longest row has room for ([ErrNoLength] where nothing
// bounds it). Rows of an insertion model have no blanks: they grow behind the text, by generate positions at most. A mask in the text is an error.
func (m *Model) EncodePrompt(text string, generate int) (Row, error) {
	if at := strings.Index(text, m.MaskText()); at >= 0 {
		return Row{}, fmt.Errorf("prompt: has the mask %s at character %d; a prompt is only continued: blanks are filled by --infill, by {\"infill\"} in a file, and by /v1/infill of a server",
			m.MaskText(), utf8.RuneCountInString(text[:at])+1)
	}
	ids, err := m.Tokenizer.Encode(text, false)
	if err != nil {
		return Row{}, fmt.Errorf("prompt: %w", err)
	}
	if slices.Contains(ids, m.MaskID) {
		return Row{}, fmt.Errorf("prompt: the tokenizer reads a mask in %q; blanks are filled by --infill, by {\"infill\"} in a file, and by /v1/infill of a server", clip(text))
	}
	if generate < 0 {
		return Row{}, fmt.Errorf("length: %d positions to generate, expected at least 1", generate)
	}
	if generate == 0 && !m.Insertion() {
		if m.MaxLength == 0 {
			return Row{}, fmt.Errorf("length: %w", ErrNoLength)
		}
		if generate = m.MaxLength - len(m.around(ids)); generate < 1 {
			return Row{}, fmt.Errorf("prompt: has %d positions with special tokens, which leaves none of the model's %d to generate; shorten it", len(m.around(ids)), m.MaxLength)
		}
	}
	if most := m.MaxLength - len(m.around(nil)); m.MaxLength > 0 && generate > most { // before memory is spent on it
		return Row{}, fmt.Errorf("length: %d positions to generate, expected at most %d (the model's longest row has %d with special tokens); use a smaller --length", generate, most, m.MaxLength)
	}
	if generate > maxWidth {
		return Row{}, fmt.Errorf("length: %d positions to generate, expected at most %d", generate, maxWidth)
	}
	if m.Insertion() {
		row, err := m.growPrompt(ids, generate)
		if err != nil && !errors.Is(err, ErrNoLength) {
			err = fmt.Errorf("prompt: %w", err)
		}
		return row, err
	}
	row, err := m.row(m.around(append(ids, slices.Repeat([]int32{m.MaskID}, generate)...)))
	if err != nil {
		return Row{}, fmt.Errorf("prompt: %w", err)
	}
	return row, nil
}

// EncodeTokens makes a row of ids, taken as they are: the mask id is a blank, nothing is put around. In an insertion model's row a
// run of blanks is a place where it may grow, as in [Model.EncodeInfill].
func (m *Model) EncodeTokens(ids []int32) (Row, error) {
	for i, id := range ids {
		if id < 0 || int(id) >= m.V {
			return Row{}, fmt.Errorf("tokens: position %d has id %d, expected 0 to %d; correct the row", i, id, m.V-1)
		}
	}
	of := m.row
	if m.Insertion() {
		of = m.grow
	}
	row, err := of(slices.Clone(ids))
	if err != nil {
		return Row{}, fmt.Errorf("tokens: %w", err)
	}
	row.Unknown = nil
	return row, nil
}

// around puts the tokenizer's special tokens around ids.
func (m *Model) around(ids []int32) []int32 {
	prefix, suffix := m.Tokenizer.Template()
	return slices.Concat(prefix, ids, suffix)
}

// row checks the length and marks what is fixed.
func (m *Model) row(ids []int32) (Row, error) {
	fixed := m.FixedLength()
	switch n := len(ids); {
	case n == 0 && !m.Insertion():
		return Row{}, errors.New("the row has no position; give text, blanks or tokens")
	case m.MaxLength > 0 && n > m.MaxLength:
		return Row{}, fmt.Errorf("the row has %d positions with special tokens, expected at most %d, the model's longest row; shorten it", n, m.MaxLength)
	case fixed > 0 && m.Insertion() && !m.AttentionMask:
		return Row{}, fmt.Errorf("the export fixed the length at %d positions, and without attention_mask rows that grow cannot be padded; export the model anew", fixed)
	case fixed > 0 && n != fixed && !m.AttentionMask:
		return Row{}, fmt.Errorf("the row has %d positions, expected %d: the export fixed the length, and without attention_mask nothing can be padded; make it fit", n, fixed)
	case m.Manifest.Length.Policy == "fixed" && !m.Insertion() && n != m.Manifest.Length.Cap:
		return Row{}, fmt.Errorf("the row has %d positions with special tokens, expected %d, the only length of this model; make it fit", n, m.Manifest.Length.Cap)
	}
	row := Row{Tokens: ids, Fixed: make([]bool, len(ids))}
	unknown, known := m.Tokenizer.Unknown()
	for i, id := range ids {
		if row.Fixed[i] = id != m.MaskID; known && id == unknown {
			row.Unknown = append(row.Unknown, i)
		}
	}
	return row, nil
}

// replacer applies input_map in one pass, longer symbols first.
func replacer(symbols map[string]string) *strings.Replacer {
	var pairs []string
	for _, s := range slices.SortedFunc(maps.Keys(symbols), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) {
		pairs = append(pairs, s, symbols[s])
	}
	return strings.NewReplacer(pairs...)
}

func count(ids []int32, id int32) (n int) {
	for _, i := range ids {
		if i == id {
			n++
		}
	}
	return n
}

// clip shortens what is quoted in a message.
func clip(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return text
}
