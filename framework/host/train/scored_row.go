package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// row makes a row of a text: special tokens and what is given are fixed, the rest is scored.
func (g *gauge) row(t *Text) (line, error) {
	var row line
	var err error
	switch {
	case t.Tokens != nil:
		row = g.marked(slices.Clone(t.Tokens))
	case t.Infill != nil && g.model.Insertion():
		return line{}, errors.New("infill: its blanks are places where text may grow, and nobody says which tokens of the answer grew; give prompt and text")
	case t.Infill != nil:
		row, err = g.answered(*t.Infill, *t.Answer)
	default:
		row, err = g.written(t)
	}
	if err != nil {
		return line{}, err
	}
	if _, err := g.model.EncodeTokens(row.tokens); err != nil {
		if t.Tokens == nil {
			err = errors.New(strings.TrimPrefix(err.Error(), "tokens: "))
		}
		return line{}, err
	}
	free := targets(row.fixed)
	for _, at := range free {
		if id := row.tokens[at]; slices.Contains(g.denoiser.suppress, int64(id)) {
			return line{}, fmt.Errorf("position %d: has the token %s (id %d), which the model never writes; take it out", at, g.model.Tokenizer.Token(id), id)
		}
	}
	if g.model.Insertion() { // a row of which nothing is free may still grow
		return row, g.ends(row)
	}
	if len(free) == 0 {
		return line{}, errors.New("nothing is free in it, so that there is nothing to score; give text")
	}
	return row, nil
}

// ends refuses rows of an insertion model that do not end with the token behind which no gap is.
func (g *gauge) ends(row line) error {
	_, suffix := g.model.Tokenizer.Template()
	if n := len(row.tokens) - len(suffix); n < 0 || !slices.Equal(row.tokens[n:], suffix) || slices.Contains(row.fixed[n:], false) {
		var texts []string
		for _, id := range suffix {
			texts = append(texts, g.model.Tokenizer.Token(id))
		}
		return fmt.Errorf("does not end with %s (%v), which ends every row of this model; add it", strings.Join(texts, " "), suffix)
	}
	return nil
}

// written is a text, maybe after a prompt.
func (g *gauge) written(t *Text) (line, error) {
	tok := g.model.Tokenizer
	text, err := tok.Encode(*t.Text, false)
	if err != nil {
		return line{}, fmt.Errorf("text: %w", err)
	}
	var prompt []int32
	if t.Prompt != nil {
		if prompt, err = tok.Encode(*t.Prompt, false); err != nil {
			return line{}, fmt.Errorf("prompt: %w", err)
		}
		if slices.Contains(prompt, g.model.MaskID) {
			return line{}, fmt.Errorf("prompt: has the mask %s; use infill and answer", g.model.MaskText())
		}
	}
	prefix, suffix := tok.Template()
	row := line{tokens: slices.Concat(prefix, prompt, text, suffix)}
	row.fixed = make([]bool, len(row.tokens))
	start := len(prefix) + len(prompt)
	for i := range row.fixed {
		row.fixed[i] = i < start || i >= start+len(text)
	}
	return row, nil
}

// marked is a row of ids; special tokens at its ends, where the tokenizer puts them, are fixed.
func (g *gauge) marked(ids []int32) line {
	row := line{tokens: ids, fixed: make([]bool, len(ids))}
	prefix, suffix := g.model.Tokenizer.Template()
	if n := len(ids); n >= len(prefix)+len(suffix) && slices.Equal(ids[:len(prefix)], prefix) && slices.Equal(ids[n-len(suffix):], suffix) {
		for i := range row.fixed {
			row.fixed[i] = i < len(prefix) || i >= n-len(suffix)
		}
	}
	return row
}

// answered is the answer to a text with blanks: the blanks are scored.
func (g *gauge) answered(infill, answer string) (line, error) {
	asked, err := g.model.EncodeInfill(infill)
	if err != nil {
		return line{}, err
	}
	ids, err := g.model.Tokenizer.Encode(answer, true)
	if err != nil {
		return line{}, fmt.Errorf("answer: %w", err)
	}
	if len(ids) != len(asked.Tokens) {
		return line{}, fmt.Errorf("answer: has %d tokens, expected the %d of the text with blanks; give the whole text, a token for each blank", len(ids), len(asked.Tokens))
	}
	for i, id := range asked.Tokens {
		if asked.Fixed[i] && ids[i] != id {
			return line{}, fmt.Errorf("answer: has %q at position %d, where the text has %q; only blanks may differ", g.model.Tokenizer.Token(ids[i]), i, g.model.Tokenizer.Token(id))
		}
	}
	return line{ids, asked.Fixed}, nil
}
