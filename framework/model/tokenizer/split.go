package tokenizer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// splitter cuts a text into pieces, or rewrites it; no piece is empty.
type splitter func(text string) []string

// rustWords is the pattern of the Whitespace pre-tokenizer. Rust counts the two joiners as word characters.
var rustWords = sync.OnceValue(func() *regexp.Regexp {
	word := wordClass + `\x{200c}\x{200d}`
	return regexp.MustCompile("[" + word + "]+|[^" + word + spaceClass + "]+")
})

// splitters returns the pre-tokenizer as a chain.
func (s *splitterSpec) splitters() ([]splitter, error) {
	if s == nil {
		return nil, nil
	}
	switch s.Type {
	case "Sequence":
		var all []splitter
		for _, q := range s.Pretokenizers {
			next, err := q.splitters()
			if err != nil {
				return nil, err
			}
			all = append(all, next...)
		}
		return all, nil
	case "Whitespace":
		return []splitter{func(text string) []string { return rustWords().FindAllString(text, -1) }}, nil
	case "WhitespaceSplit":
		return []splitter{func(text string) []string { return strings.FieldsFunc(text, unicode.IsSpace) }}, nil
	case "ByteLevel":
		if s.UseRegex == nil || *s.UseRegex || s.AddPrefixSpace {
			return nil, lacking("pre_tokenizer ByteLevel with use_regex or add_prefix_space")
		}
		return []splitter{spellBytes}, nil
	case "Split":
		if s.singles() {
			return []splitter{characters}, nil
		}
		re, err := s.Pattern.compile()
		if err != nil {
			return nil, err
		}
		join, ok := behaviors[s.Behavior]
		if !ok {
			return nil, lacking("pre_tokenizer Split with behavior %q", s.Behavior)
		}
		return []splitter{func(text string) []string { return join(spans(re, text, s.Invert)) }}, nil
	}
	return nil, lacking("pre_tokenizer %q", s.Type)
}

// singles tells whether the pieces are the characters of the text, for which no pattern need be run.
func (s *splitterSpec) singles() bool {
	return s.Pattern != nil && s.Pattern.Regex != nil && s.Behavior == "Isolated" && (*s.Pattern.Regex == characterPattern || *s.Pattern.Regex == `(?m:.)`)
}

// characters cuts valid UTF-8 into its characters.
func characters(text string) []string {
	out := make([]string, 0, len(text))
	for len(text) > 0 {
		_, n := utf8.DecodeRuneInString(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func (p *patternSpec) compile() (*regexp.Regexp, error) {
	switch {
	case p != nil && p.Regex != nil:
		return compile(*p.Regex)
	case p != nil && p.String != nil && *p.String != "":
		return regexp.Compile(regexp.QuoteMeta(*p.String))
	}
	return nil, lacking("pre_tokenizer Split without a pattern")
}

// spellBytes writes a text in the byte alphabet.
func spellBytes(text string) []string {
	var out strings.Builder
	for _, b := range []byte(text) {
		out.WriteRune(byteRune[b])
	}
	return []string{out.String()}
}

// span is a part of a text that a pattern matches, or that lies between matches.
type span struct {
	text  string
	match bool
}

// spans covers the text without gaps.
func spans(re *regexp.Regexp, text string, invert bool) []span {
	var out []span
	last := 0
	for _, m := range re.FindAllStringIndex(text, -1) {
		if m[0] > last {
			out = append(out, span{text[last:m[0]], invert})
		}
		out = append(out, span{text[m[0]:m[1]], !invert})
		last = m[1]
	}
	if last < len(text) {
		out = append(out, span{text[last:], invert})
	}
	return out
}

// behaviors say what becomes of matches. The merging ones join a match with one neighbour, and only the first of a run.
var behaviors = map[string]func([]span) []string{
	"Removed": func(in []span) []string {
		return texts(slices.DeleteFunc(in, func(s span) bool { return s.match }))
	},
	"Isolated": texts,
	"Contiguous": func(in []span) []string {
		return merge(in, func(s, last span) bool { return s.match == last.match })
	},
	"MergedWithPrevious": func(in []span) []string {
		return merge(in, func(s, last span) bool { return s.match && !last.match })
	},
	"MergedWithNext": func(in []span) []string {
		var out []string
		for i := len(in) - 1; i >= 0; i-- {
			if n := len(out); n > 0 && in[i].match && !in[i+1].match {
				out[n-1] = in[i].text + out[n-1]
			} else {
				out = append(out, in[i].text)
			}
		}
		slices.Reverse(out)
		return out
	},
}

func texts(in []span) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = s.text
	}
	return out
}

// merge glues each span to the piece before where join says so; last is the span before.
func merge(in []span, join func(s, last span) bool) []string {
	var out []string
	for i, s := range in {
		if i > 0 && join(s, in[i-1]) {
			out[len(out)-1] += s.text
		} else {
			out = append(out, s.text)
		}
	}
	return out
}
