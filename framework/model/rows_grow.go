package model

import (
	"errors"
	"fmt"
	"slices"
)

// grow makes a row of an insertion model: every run of blanks in ids is a gap where the row may grow, in which nothing stands
// yet, and all other gaps are frozen.
func (m *Model) grow(ids []int32) (Row, error) {
	tokens, free := make([]int32, 0, len(ids)), []int{}
	for _, id := range ids {
		if id == m.MaskID {
			free = append(free, len(tokens))
		} else {
			tokens = append(tokens, id)
		}
	}
	row, err := m.row(tokens)
	if err != nil {
		return Row{}, err
	}
	row.FrozenGap = slices.Repeat([]bool{true}, len(tokens)+1)
	for _, gap := range free {
		row.FrozenGap[gap] = false
	}
	if n := len(tokens); m.Manifest.Gap == gapEOS {
		switch {
		case n == 0:
			return Row{}, errors.New("the row has no position, expected one at least: rows of this model end with a fixed token (mdm.json: gap eos)")
		case !row.FrozenGap[n]:
			return Row{}, fmt.Errorf("has a blank behind its last position, where rows of this model never grow (mdm.json: gap eos); let token %d stand last", tokens[n-1])
		}
	}
	return row, nil
}

// WithRoom bounds a row of an insertion model to generate positions more than it has; 0, and other models, leave it as it is.
func (m *Model) WithRoom(row Row, generate int) Row {
	if row.FrozenGap == nil || generate == 0 {
		return row
	}
	if row.Cap = len(row.Tokens) + generate; m.MaxLength > 0 {
		row.Cap = min(row.Cap, m.MaxLength)
	}
	return row
}

// growPrompt makes a row that begins with the prompt's ids and grows behind them.
func (m *Model) growPrompt(ids []int32, generate int) (Row, error) {
	if _, suffix := m.Tokenizer.Template(); m.Manifest.Gap == gapEOS && len(suffix) == 0 {
		return Row{}, errors.New("the tokenizer puts no token behind a text, and rows of this model end with one (mdm.json: gap eos); take the tokenizer that the model was trained with, or give the row as tokens")
	}
	n := len(m.around(ids))
	switch {
	case m.MaxLength == 0 && generate == 0:
		return Row{}, fmt.Errorf("length: %w", ErrNoLength)
	case m.MaxLength > 0 && n > m.MaxLength:
		return Row{}, fmt.Errorf("has %d positions with special tokens, expected at most %d, the model's longest row; shorten it", n, m.MaxLength)
	case n == m.MaxLength:
		return Row{}, fmt.Errorf("has %d positions with special tokens, which leaves none of the model's %d to generate; shorten it", n, m.MaxLength)
	}
	row, err := m.grow(m.around(append(slices.Clone(ids), m.MaskID)))
	return m.WithRoom(row, generate), err
}
