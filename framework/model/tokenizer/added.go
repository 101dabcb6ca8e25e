package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a text: an added token, or text that is still to be split (id -1).
type piece struct {
	text string
	id   int32
}

// matcher finds added tokens in a text: leftmost first, the longest of those that begin at one place.
type matcher map[byte][]addedToken // by first byte, longest first

func newMatcher(tokens []addedToken) matcher {
	m := matcher{}
	for _, t := range tokens {
		if t.Content != "" {
			m[t.Content[0]] = append(m[t.Content[0]], t)
		}
	}
	for _, ts := range m {
		slices.SortStableFunc(ts, func(a, b addedToken) int { return cmp.Compare(len(b.Content), len(a.Content)) })
	}
	return m
}

// cut splits a text at its added tokens.
func (m matcher) cut(text string) []piece {
	if len(m) == 0 {
		return []piece{{text, -1}}
	}
	var out []piece
	done := 0 // text before it is in out
	for at := 0; at < len(text); {
		i := slices.IndexFunc(m[text[at]], func(t addedToken) bool { return strings.HasPrefix(text[at:], t.Content) })
		if i < 0 {
			at++
			continue
		}
		t := m[text[at]][i]
		start, stop := at, at+len(t.Content)
		at = stop
		if t.SingleWord && (endsWithWord(text[:start]) || startsWithWord(text[stop:])) {
			continue
		}
		if t.Lstrip {
			start = max(done, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if t.Rstrip {
			stop = len(text) - len(strings.TrimLeftFunc(text[stop:], unicode.IsSpace))
		}
		if start > done {
			out = append(out, piece{text[done:start], -1})
		}
		out = append(out, piece{text[start:stop], int32(t.ID)})
		done = stop
	}
	if done < len(text) {
		out = append(out, piece{text[done:], -1})
	}
	return out
}

func startsWithWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

func endsWithWord(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWord(r)
}

// isWord is \w of Rust's regular expressions.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
