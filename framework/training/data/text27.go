package data

import (
	"unicode"
	"unicode/utf8"
)

var digits = [10]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// text27 reduces text to the alphabet of text8: lower case; every digit is replaced by its English name between spaces;
// every run of characters outside a-z becomes one space; both ends are stripped. Its state lets a text come in parts.
type text27 struct {
	started bool // something was written
	gap     bool // a space is due before the next letter
}

// append adds the next part of the text to dst.
func (n *text27) append(dst []byte, text string) []byte {
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z':
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= '0' && r <= '9':
			n.gap = true
			for _, c := range []byte(digits[r-'0']) {
				dst = n.letter(dst, c)
			}
			n.gap = true
			continue
		case r == 'İ': // lower case has a dot of its own
			dst = n.letter(dst, 'i')
			n.gap = true
			continue
		case r >= utf8.RuneSelf: // the Kelvin sign is a k
			r = unicode.ToLower(r)
		}
		if r < 'a' || r > 'z' {
			n.gap = true
			continue
		}
		dst = n.letter(dst, byte(r))
	}
	return dst
}

func (n *text27) letter(dst []byte, c byte) []byte {
	if n.gap && n.started {
		dst = append(dst, ' ')
	}
	n.started, n.gap = true, false
	return append(dst, c)
}
