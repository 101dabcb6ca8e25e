// Package nearest finds the word that a misspelt one was meant to be, so that errors can name it.
package nearest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Word returns the candidate that name was probably meant to be, or "". The last part of a dotted candidate counts
// as a name of its own, so that "temprature" finds "sampling.temperature". At most a third of the letters differ, or two in
// names of at least four, or one.
func Word(name string, candidates []string) string {
	best, least := "", min(max(2, len(name)/3), len(name)/2)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := levenshtein.Distance(name, c, nil)
		if !strings.Contains(name, ".") {
			d = min(d, levenshtein.Distance(name, c[strings.LastIndexByte(c, '.')+1:], nil))
		}
		if d < least || (d == least && best != "" && apart(c, name) < apart(best, name)) {
			best, least = c, d
		}
	}
	return best
}

// apart compares lengths: of two names that are equally near, the one of the same length was rather meant, since letters
// are more often swapped than lost.
func apart(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// DidYouMean returns "; did you mean X?", or what there is when nothing is near.
func DidYouMean(name string, candidates []string) string {
	if text := Perhaps(name, candidates); text != "" || len(candidates) == 0 {
		return text
	}
	return "; there are " + strings.Join(slices.Sorted(slices.Values(candidates)), ", ")
}

// Perhaps returns "; did you mean X?", or nothing when nothing is near.
func Perhaps(name string, candidates []string) string {
	if n := Word(name, candidates); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}
