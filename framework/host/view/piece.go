package view

import (
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// Piece returns the text of one token as it stands within a row; "" for special tokens.
type Piece func(id int32) string

// PieceOf returns how a tokenizer's tokens read within a row.
func PieceOf(t tokenizer.Tokenizer) Piece {
	return func(id int32) string {
		spelling := t.Token(id)
		switch {
		case t.Special(id):
			return ""
		case t.Kind() == "WordPiece":
			if part, ok := strings.CutPrefix(spelling, "##"); ok {
				return part
			}
			return " " + spelling
		case strings.HasPrefix(spelling, "▁"):
			return " " + strings.TrimPrefix(spelling, "▁")
		}
		return t.Decode([]int32{id}, true)
	}
}
