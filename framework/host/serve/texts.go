package serve

import (
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/view"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// speller reads tokens for one answer.
type speller struct {
	tokens tokenizer.Tokenizer
	piece  view.Piece
}

func newSpeller(t tokenizer.Tokenizer) speller { return speller{t, view.PieceOf(t)} }

// of is a token as it reads within a row; a special one by its name.
func (s speller) of(id int32) string {
	if s.tokens.Special(id) {
		return s.tokens.Token(id)
	}
	return s.piece(id)
}

// behind is a row's text without the prompt that it begins with: given positions up to the first blank. What a tokenizer reads depends
// on what stands before, so the whole is read, and the prompt's part taken off where the whole begins with it.
func (s speller) behind(row *results.Row, prompt []int32, given []bool) string {
	n := 0
	for n < len(given) && given[n] && n < len(row.Tokens) && row.Tokens[n] == prompt[n] {
		n++
	}
	if rest, ok := strings.CutPrefix(row.Text, s.tokens.Decode(row.Tokens[:n], true)); ok {
		return rest
	}
	return s.tokens.Decode(row.Tokens[n:], true)
}

// count is how many positions are given.
func count(given []bool) (n int) {
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}
