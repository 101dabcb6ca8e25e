package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Brackets are balanced strings of ( and ). The length is drawn, and all balanced strings of that length are equally likely.
type Brackets struct{ Lengths []Share }

// Share is how often a length is drawn.
type Share struct {
	Length int // characters
	Share  float64
}

// BracketLengths is the law of lengths that [Brackets] have unless told otherwise.
var BracketLengths = []Share{{4, 0.1}, {8, 0.4}, {12, 0.4}, {16, 0.1}}

// mostBrackets is the longest string whose number of completions fits in 64 bits.
const mostBrackets = 64

// Validate implements [Task].
func (b Brackets) Validate() error {
	sum, seen := 0.0, map[int]bool{}
	for _, l := range b.Lengths {
		if l.Length < 2 || l.Length > mostBrackets || l.Length%2 == 1 {
			return fmt.Errorf("lengths: expected even ones from 2 to %d, found %d", mostBrackets, l.Length)
		}
		if seen[l.Length] || !(l.Share > 0) {
			return fmt.Errorf("lengths: expected every length once with a share above 0, found %d:%g", l.Length, l.Share)
		}
		seen[l.Length], sum = true, sum+l.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("lengths: expected shares that add up to 1, found %g", sum)
	}
	return nil
}

// Limits implements [Task].
func (b Brackets) Limits() (prompt, text int) {
	for _, l := range b.Lengths {
		text = max(text, l.Length)
	}
	return 0, text
}

// Draw implements [Task].
func (b Brackets) Draw(rng *rand.Rand) Row {
	n := b.Lengths[len(b.Lengths)-1].Length
	u := rng.Float64()
	for _, l := range b.Lengths {
		if u -= l.Share; u < 0 {
			n = l.Length
			break
		}
	}
	var text strings.Builder
	for depth := 0; n > 0; n-- {
		up := completions(n-1, depth+1)
		if rng.Uint64N(up+completions(n-1, depth-1)) < up {
			text.WriteByte('(')
			depth++
		} else {
			text.WriteByte(')')
			depth--
		}
	}
	return Row{Text: text.String()}
}

// completions counts the ways to go from a depth to 0 in n brackets without going below 0: the reflection principle's
// C(n, (n+depth)/2) - C(n, (n+depth)/2 + 1).
func completions(n, depth int) uint64 {
	if depth < 0 || depth > n || (n+depth)%2 == 1 {
		return 0
	}
	k := (n + depth) / 2
	return choose(n, k) - choose(n, k+1)
}

// choose is the binomial coefficient, exact for n below [mostBrackets].
func choose(n, k int) uint64 {
	if k > n {
		return 0
	}
	row := make([]uint64, k+1) // Pascal's triangle
	row[0] = 1
	for range n {
		for i := k; i > 0; i-- {
			row[i] += row[i-1]
		}
	}
	return row[k]
}

// Balanced tells whether a text is a balanced string of brackets, of at least one pair.
func Balanced(text string) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		default:
			return false
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0 && text != ""
}
