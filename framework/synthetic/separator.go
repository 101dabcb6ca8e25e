package synthetic

import (
	"math/rand/v2"
	"slices"
)

// Separator is the law of the 36 strings of a run, a separator and a run, where runs are one or two characters a or b. The
// lengths 3, 4 and 5 are equally likely, and so are the strings of one length. A model that writes the separator first need
// not guess on which side of what it has written further characters belong: order is worth a nat of the bound here.
type Separator struct{}

// The separator, between two runs.
const separator = "|"

// words are the strings by length.
var words = func() map[int][]string {
	runs := []string{"a", "b", "aa", "ab", "ba", "bb"}
	out := map[int][]string{}
	for _, x := range runs {
		for _, y := range runs {
			w := x + separator + y
			out[len(w)] = append(out[len(w)], w)
		}
	}
	return out
}()

// Validate implements [Task].
func (Separator) Validate() error { return nil }

// Limits implements [Task].
func (Separator) Limits() (prompt, text int) { return 0, 5 }

// Draw implements [Task].
func (Separator) Draw(rng *rand.Rand) Row {
	of := words[3+rng.IntN(3)]
	return Row{Text: of[rng.IntN(len(of))]}
}

// Probability is that of a text.
func (Separator) Probability(text string) float64 {
	if of := words[len(text)]; slices.Contains(of, text) {
		return 1 / float64(3*len(of))
	}
	return 0
}
