package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Canvas is a row after some of its steps.
type Canvas struct {
	Tokens  []int32   // [L] the mask id where masked
	Opened  []int     // [L] step, counted from 1, that opened the position last; 0 where it is masked or was given
	Written []int     // [L] step that wrote it last: the same, or a later one that overwrote it
	Logp    []float32 // [L] when it was written; NaN where unknown, masked or given
}

// Replay returns the row after its first n steps of those recorded.
func (t *Trace) Replay(r *Row, n int) Canvas {
	l := len(r.Start)
	c := Canvas{Tokens: slices.Clone(r.Start), Opened: make([]int, l), Written: make([]int, l), Logp: make([]float32, l)}
	for i := range c.Logp {
		c.Logp[i] = float32(math.NaN())
	}
	for k, s := range r.Steps[:min(n, len(r.Steps))] {
		for i, w := range s.Opened {
			if c.Tokens[w[0]] == t.mask {
				c.Opened[w[0]] = k + 1
			}
			c.Tokens[w[0]], c.Written[w[0]], c.Logp[w[0]] = w[1], k+1, float32(math.NaN())
			if i < len(s.Logp) {
				c.Logp[w[0]] = s.Logp[i]
			}
		}
		for _, p := range s.Remasked {
			c.Tokens[p], c.Opened[p], c.Written[p], c.Logp[p] = t.mask, 0, 0, float32(math.NaN())
		}
	}
	return c
}

// Final is the row's result, or its last canvas where it has none.
func (t *Trace) Final(r *Row) []int32 {
	if r.End != nil && len(r.End.Tokens) > 0 {
		return r.End.Tokens
	}
	return t.Replay(r, len(r.Steps)).Tokens
}

// Finish is how the row ended; "unfinished" where the run was killed before.
func (r *Row) Finish() string {
	if r.End == nil {
		return "unfinished"
	}
	return string(r.End.Finish)
}

// NFE is the number of forward passes that the row took part in.
func (r *Row) NFE() int {
	switch {
	case r.End != nil:
		return r.End.NFE
	case len(r.Steps) > 0:
		return r.Steps[len(r.Steps)-1].NFE
	}
	return 0
}

// StepCount is the number of steps of the row, empty ones included.
func (r *Row) StepCount() int {
	switch {
	case r.End != nil:
		return r.End.Step
	case len(r.Steps) > 0:
		return r.Steps[len(r.Steps)-1].Step + 1
	}
	return 0
}

// Remasked is how often a position was masked again.
func (r *Row) Remasked() int {
	n := 0
	for _, s := range r.Steps {
		n += len(s.Remasked)
	}
	return n
}

// overwrites lists by recorded step the positions that held a token and that the step wrote all the same. Lines of a trace
// name them among what was opened: they differ in what stood there.
func (t *Trace) overwrites(r *Row) [][]int32 {
	tokens, out := slices.Clone(r.Start), make([][]int32, len(r.Steps))
	for k, s := range r.Steps {
		for _, w := range s.Opened {
			if tokens[w[0]] != t.mask {
				out[k] = append(out[k], w[0])
			}
			tokens[w[0]] = w[1]
		}
		for _, p := range s.Remasked {
			tokens[p] = t.mask
		}
	}
	return out
}

// Blanks counts masked positions of a canvas.
func (t *Trace) Blanks(tokens []int32) int {
	n := 0
	for _, id := range tokens {
		if id == t.mask {
			n++
		}
	}
	return n
}

// Find returns the row of an index.
func (t *Trace) Find(index int64) (*Row, error) {
	i, found := slices.BinarySearchFunc(t.Rows, index, func(r *Row, want int64) int { return int(min(max(r.Index-want, -1), 1)) })
	if found {
		return t.Rows[i], nil
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("%s: has no row %d: no row was begun", t.Name, index)
	}
	return nil, fmt.Errorf("%s: has no row %d; its rows lie from %d to %d", t.Name, index, t.Rows[0].Index, t.Rows[len(t.Rows)-1].Index)
}

// Text is how a token reads, and whether the trace says so.
func (t *Trace) Text(id int32) (string, bool) {
	text, known := t.pieces[id]
	return text, known
}

// blank stands for a masked position.
const blank = "░"

// piece is how a token reads on a line of a terminal: no control reaches it.
func (t *Trace) piece(id int32) string {
	text, known := t.pieces[id]
	switch {
	case id == t.mask:
		return blank
	case !known:
		return fmt.Sprintf("#%d", id)
	case t.special[id]:
		return ""
	}
	return clean(text)
}

// clean takes escape sequences and other controls out of a text; line breaks and tabs get a sign.
func clean(text string) string {
	text = strings.NewReplacer("\n", "↵", "\r", "", "\t", "⇥").Replace(ansi.Strip(text))
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}

// text reads a row.
func (t *Trace) text(tokens []int32) string {
	var b strings.Builder
	for _, id := range tokens {
		b.WriteString(t.piece(id))
	}
	return b.String()
}
