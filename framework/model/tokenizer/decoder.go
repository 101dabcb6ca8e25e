package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// decoder returns the function that joins tokens into text, or nil for decoders that only the Rust library has.
func (d *decoderSpec) decoder() func([]string) string {
	if d == nil {
		return func(tokens []string) string { return strings.Join(tokens, " ") }
	}
	switch d.Type {
	case "Fuse":
		return func(tokens []string) string { return strings.Join(tokens, "") }
	case "ByteLevel":
		return joinBytes
	case "WordPiece":
		return func(tokens []string) string { return joinPieces(tokens, d.Prefix, d.Cleanup == nil || *d.Cleanup) }
	}
	return nil
}

// joinPieces puts spaces between words and glues what starts with the prefix ("##") to the piece before.
func joinPieces(tokens []string, prefix string, cleanup bool) string {
	var text strings.Builder
	for i, t := range tokens {
		if i > 0 {
			if rest, glued := strings.CutPrefix(t, prefix); glued {
				t = rest
			} else {
				t = " " + t
			}
		}
		if cleanup {
			for _, c := range cleanups {
				t = strings.ReplaceAll(t, c[0], c[1])
			}
		}
		text.WriteString(t)
	}
	return text.String()
}

// cleanups undo the spaces of English punctuation, one after the other, within one token at a time: the format's rule.
var cleanups = [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
	{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}}

// joinBytes undoes the byte alphabet. A token with a character outside it counts as its own UTF-8.
func joinBytes(tokens []string) string {
	var all []byte
	for _, t := range tokens {
		start := len(all)
		for _, r := range t {
			b, ok := byteOf[r]
			if !ok {
				all = append(all[:start], t...)
				break
			}
			all = append(all, b)
		}
	}
	return validUTF8(all)
}

// validUTF8 replaces every maximal broken part by U+FFFD, as Unicode recommends and Rust does.
func validUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for n < len(b) && !utf8.FullRune(b[:n+1]) { // longer beginnings of a valid character
				n++
			}
			if utf8.FullRune(b[:1]) { // not even the first byte begins one
				n = 1
			}
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// byteRune is the byte alphabet of GPT-2: printable bytes stand for themselves, the others for characters from U+0100.
var byteRune, byteOf = func() (runes [256]rune, bytes map[rune]byte) {
	bytes = make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			r, next = next, next+1
		}
		runes[b], bytes[r] = r, byte(b)
	}
	return runes, bytes
}()
