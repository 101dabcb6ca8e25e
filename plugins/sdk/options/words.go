package options

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// expected says in words what the field takes.
func (f field) expected() string {
	s := map[kind]string{boolean: "true or false", integer: "a whole number", number: "a number", text: "a text"}[f.kind]
	if f.enum != nil {
		s = "one of " + strings.Join(f.enum, ", ")
	}
	switch {
	case f.min != nil && f.max != nil:
		s += fmt.Sprintf(" from %g to %g", *f.min, *f.max)
	case f.min != nil:
		s += fmt.Sprintf(" of at least %g", *f.min)
	case f.max != nil:
		s += fmt.Sprintf(" of at most %g", *f.max)
	}
	return s
}

// nearest names the option that was probably meant.
func nearest(name string, fs []field) string {
	if len(fs) == 0 {
		return "; there are no options"
	}
	var names []string
	for _, f := range fs {
		names = append(names, f.name)
	}
	if text := perhaps(name, names); text != "" {
		return text
	}
	return "; the options are " + strings.Join(names, ", ")
}

// perhaps returns "; did you mean X?", or nothing when nothing is near.
func perhaps(name string, candidates []string) string {
	best, least := "", len(name)
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d <= min(least, 1+len(name)/3) {
			best, least = c, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
