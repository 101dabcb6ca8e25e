package trace

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Canvas is a row after some of its steps. Positions are those that the row has then.
type Canvas struct {
	Tokens  []int32   // [L] the mask id where masked
	Opened  []int     // [L] step, counted from 1, that opened the position last; 0 where it is masked or was given
	Written []int     // [L] step that wrote it last: the same, or a later one that overwrote it
	Born    []int     // [L] step that inserted it; 0 where it was there from the start
	Logp    []float32 // [L] when it was written; NaN where unknown, masked or given
	Blank   []bool    // [L] it was masked at the start, or inserted: the answer lies here
}

// Replay returns the row after its first n steps of those recorded.
func (t *Trace) Replay(r *Row, n int) Canvas { return *t.after(r, n).Canvas }

// played is a canvas with what its last step overwrote: positions, of the row before it, that held a token already. Lines of a trace
// name them among what was opened: they differ in what stood there.
type played struct {
	*Canvas
	over []int32
}

// play yields the canvas at the start and after each of the first n recorded steps. It is the same one, changed.
func (t *Trace) play(r *Row, n int) iter.Seq[played] {
	return func(yield func(played) bool) {
		l := len(r.Start)
		c := &Canvas{Tokens: slices.Clone(r.Start), Opened: make([]int, l), Written: make([]int, l), Born: make([]int, l), Logp: make([]float32, l), Blank: make([]bool, l)}
		for i, id := range r.Start {
			c.Logp[i], c.Blank[i] = unknown, id == t.mask
		}
		if !yield(played{Canvas: c}) {
			return
		}
		for k := range r.Steps[:min(n, len(r.Steps))] {
			if !yield(played{c, c.advance(&r.Steps[k], k+1, t.mask)}) {
				return
			}
		}
	}
}

// after is the last that play yields.
func (t *Trace) after(r *Row, n int) (last played) {
	for last = range t.play(r, n) {
		continue
	}
	return last
}

var unknown = float32(math.NaN())

// advance applies a step, the k-th from 1, and returns the positions that it overwrote.
func (c *Canvas) advance(s *sampling.TraceEvent, k int, mask int32) (over []int32) {
	for i, w := range s.Opened {
		p := w[0]
		if c.Tokens[p] == mask {
			c.Opened[p] = k
		} else {
			over = append(over, p)
		}
		c.Tokens[p], c.Written[p], c.Logp[p] = w[1], k, unknown
		if i < len(s.Logp) {
			c.Logp[p] = s.Logp[i]
		}
	}
	for _, p := range s.Remasked {
		c.Tokens[p], c.Opened[p], c.Written[p], c.Logp[p] = mask, 0, 0, unknown
	}
	if len(s.Deleted)+len(s.Inserted) > 0 {
		shift := sampling.NewShift(len(c.Tokens), s.Deleted, insertions(s))
		c.Tokens, c.Born, c.Blank = sampling.Shifted(shift, c.Tokens, mask), sampling.Shifted(shift, c.Born, k), sampling.Shifted(shift, c.Blank, true)
		c.Opened, c.Written, c.Logp = sampling.Shifted(shift, c.Opened, 0), sampling.Shifted(shift, c.Written, 0), sampling.Shifted(shift, c.Logp, unknown)
	}
	return over
}

func insertions(s *sampling.TraceEvent) []sampling.Insertion {
	out := make([]sampling.Insertion, len(s.Inserted))
	for i, in := range s.Inserted {
		out[i] = sampling.Insertion{Gap: in[0], Count: in[1]}
	}
	return out
}

// masks is how many masks a step inserted.
func masks(s *sampling.TraceEvent) int {
	n := 0
	for _, in := range s.Inserted {
		n += int(in[1])
	}
	return n
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
