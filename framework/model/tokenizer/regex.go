package tokenizer

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// The character classes of the Oniguruma library, which reads the patterns of tokenizer.json: Unicode, not ASCII as in Go.
const (
	digitClass = `\p{Nd}`
	spaceClass = `\t-\r\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	// Alphabetic, marks, decimal digits, connectors. The ranges are the circled letters, alphabetic but no letters.
	wordClass    = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}`
	latinNumbers = `\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}` // superscripts and fractions of Latin-1, which Oniguruma adds
)

// compile translates an Oniguruma pattern (Ruby's syntax) into Go's. It takes what means the same in both or can be made
// to, and refuses the rest: looking around, anchors, possessive repetition, set operations in classes, flags, names.
func compile(pattern string) (*regexp.Regexp, error) {
	p := translator{in: pattern}
	if err := p.run(); err != nil {
		return nil, lacking("pattern %q: %s", pattern, err)
	}
	re, err := regexp.Compile(p.out.String())
	if err != nil {
		return nil, lacking("pattern %q: %s", pattern, err)
	}
	if re.MatchString("") {
		return nil, lacking("pattern %q: matches the empty text, which", pattern)
	}
	return re, nil
}

type translator struct {
	in  string
	out strings.Builder
}

func (p *translator) run() error {
	for len(p.in) > 0 {
		c := p.in[0]
		switch {
		case c == '\\':
			e, err := p.escape(false)
			if err != nil {
				return err
			}
			p.out.WriteString(e)
			continue
		case c == '[':
			if err := p.class(); err != nil {
				return err
			}
			continue
		case c == '^' || c == '$':
			return fmt.Errorf("the anchor %c", c)
		case strings.HasPrefix(p.in, "(?m:"): // Ruby's m lets the dot match line ends
			p.take("(?m:", "(?s:")
			continue
		case strings.HasPrefix(p.in, "(?:"):
			p.take("(?:", "(?:")
			continue
		case strings.HasPrefix(p.in, "(?"):
			return fmt.Errorf("the group %.4s", p.in)
		case strings.HasPrefix(p.in, "{,"), strings.HasPrefix(p.in, "}?"), strings.HasPrefix(p.in, "}+"):
			return fmt.Errorf("the repetition %.2s", p.in)
		}
		p.take(string(c), string(c))
	}
	return nil
}

// take moves on past in and writes out.
func (p *translator) take(in, out string) {
	p.in = p.in[len(in):]
	p.out.WriteString(out)
}

// escape reads a backslash and what belongs to it, and returns its translation for inside or outside a class.
func (p *translator) escape(inside bool) (string, error) {
	if len(p.in) < 2 {
		return "", fmt.Errorf("a backslash at the end")
	}
	c := p.in[1]
	named := map[byte]string{'d': digitClass, 's': spaceClass, 'w': wordClass + latinNumbers}
	switch {
	case c == 'd' || c == 's' || c == 'w':
		p.in = p.in[2:]
		if inside {
			return named[c], nil
		}
		return "[" + named[c] + "]", nil
	case c == 'D' || c == 'S' || c == 'W':
		p.in = p.in[2:]
		if inside {
			return complement(named[c+'a'-'A'])
		}
		return "[^" + named[c+'a'-'A'] + "]", nil
	case c == 'p' || c == 'P':
		end := strings.IndexByte(p.in, '}')
		if !strings.HasPrefix(p.in[2:], "{") || end < 0 || strings.HasPrefix(p.in[2:], "{^") {
			return "", fmt.Errorf("the property %.6s", p.in)
		}
		e := p.in[:end+1]
		p.in = p.in[end+1:]
		return e, nil
	case c == 'n' || c == 't' || c == 'r' || c == 'f' || c == 'v':
		p.in = p.in[2:]
		return `\` + string(c), nil
	case c == '-': // alone it could make a range
		p.in = p.in[2:]
		return `\-`, nil
	case c < 0x80 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ", c) >= 0:
		p.in = p.in[2:]
		return regexp.QuoteMeta(string(c)), nil
	}
	return "", fmt.Errorf("the escape \\%c", c)
}

// class reads a bracket expression.
func (p *translator) class() error {
	p.take("[", "[")
	if strings.HasPrefix(p.in, "^") {
		p.take("^", "^")
	}
	for first := true; len(p.in) > 0; first = false {
		switch c := p.in[0]; {
		case c == ']' && !first:
			p.take("]", "]")
			return nil
		case c == ']':
			return fmt.Errorf("an empty class") // Go takes the bracket literally, Ruby warns
		case c == '[':
			return fmt.Errorf("a class within a class")
		case strings.HasPrefix(p.in, "&&"):
			return fmt.Errorf("an intersection of classes")
		case c == '\\':
			e, err := p.escape(true)
			if err != nil {
				return err
			}
			p.out.WriteString(e)
		default:
			p.take(string(c), string(c))
		}
	}
	return fmt.Errorf("a class without its end")
}

// complement writes the characters outside a class as ranges, for use within another class.
func complement(class string) (string, error) {
	re, err := syntax.Parse("[^"+class+"]", syntax.Perl)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i := 0; i+1 < len(re.Rune); i += 2 {
		fmt.Fprintf(&out, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
	}
	return out.String(), nil
}
