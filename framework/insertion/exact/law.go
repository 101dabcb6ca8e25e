// Package exact is the Bayes-optimal insertion model of a law over a few short strings, by enumeration: samplers that converge to
// that law with it have no other mistake than their steps (methods/loflexmdm.md, section 4.3). It serves tests and measurements, in Go and as a
// model directory with an ONNX file.
package exact

import (
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/insertion"
)

// Law is a distribution over strings.
type Law struct {
	Strings [][]int32 // tokens 0 to V-1; the empty string may be among them
	P       []float64 // sums to 1
	V       int
	BIn     [][]float64 // the insertion speed of every position of every string; nil: all 1
	BUm     [][]float64 // the unmasking speed; nil: all 1
}

// Toy is a law of twelve strings over a, b, c, the empty one among them: that of docs/insertion-sampling.md.
func Toy() Law {
	words := []string{"", "a", "ab", "ba", "aa", "abc", "cab", "bca", "bbb", "aabb", "abab", "cacb"}
	l := Law{P: []float64{.04, .10, .16, .10, .05, .15, .08, .06, .07, .09, .06, .04}, V: 3}
	for _, w := range words {
		s := make([]int32, len(w))
		for i, c := range w {
			s[i] = c - 'a'
		}
		l.Strings = append(l.Strings, s)
	}
	return l
}

// Pad and Mask are the ids behind the tokens, as tokenizers that are made from data have them.
func (l *Law) Pad() int32 { return int32(l.V) }

// Mask is the mask's id.
func (l *Law) Mask() int32 { return int32(l.V) + 1 }

// Longest is the length of the longest string.
func (l *Law) Longest() (n int) {
	for _, s := range l.Strings {
		n = max(n, len(s))
	}
	return n
}

func speed(of [][]float64, word, position int) float64 {
	if of == nil {
		return 1
	}
	return of[word][position]
}

// Distance returns the total variation between the law and the shares of the rows, and that between their lengths. chance is what the
// first is for rows of the law itself but for one case in 10^8: its mean is at most sum_i sqrt(p_i (1-p_i)/n)/2, and McDiarmid bounds
// the rest.
func (l *Law) Distance(rows [][]int32) (tv, lengths, chance float64) {
	n := float64(len(rows))
	diff, lengthDiff := map[string]float64{}, map[int]float64{}
	for i, s := range l.Strings {
		diff[key(s)] += l.P[i]
		lengthDiff[len(s)] += l.P[i]
		chance += math.Sqrt(l.P[i]*(1-l.P[i])/n) / 2
	}
	for _, r := range rows {
		diff[key(r)] -= 1 / n
		lengthDiff[len(r)] -= 1 / n
	}
	for _, d := range diff {
		tv += math.Abs(d) / 2
	}
	for _, d := range lengthDiff {
		lengths += math.Abs(d) / 2
	}
	return tv, lengths, chance + math.Sqrt(math.Log(1e8)/(2*n))
}

func key(tokens []int32) string { return string(tokens) } // one code point a token

// alignment is a string with a state for each of its positions, and what a network sees of it.
type alignment struct {
	word   int
	states []int
	insertion.Contracted
}

// alignments are all of them, in the order of the strings: the sum over strings of 3^length.
func (l *Law) alignments() (all []alignment) {
	for w, s := range l.Strings {
		states, speeds := make([]int, len(s)), make([]float64, len(s))
		for j := range s {
			speeds[j] = speed(l.BIn, w, j)
		}
		for more := true; more; {
			all = append(all, alignment{w, slices.Clone(states), insertion.Contract(s, states, speeds, l.Mask())})
			more = false
			for j := range states {
				if states[j]++; states[j] <= insertion.Clean {
					more = true
					break
				}
				states[j] = insertion.Dropped
			}
		}
	}
	return all
}
