// Package view shows a sampling run: a bar or lines of progress, the canvas while it fills, and the summary at the end.
// Everything goes to standard error and adapts to what that is; answers are never mixed in.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// canvas keeps the last state of the row in every slot. It is written by the step loop and read by the screen.
type canvas struct {
	mu   sync.Mutex
	rows map[int]*row // by slot
}

type row struct {
	index       int64
	step, steps int // steps done, of how many
	nfe         int
	tokens      []int32
	flags       []sampling.Flags
	guess       []int32         // [L] -1 where there is none
	fresh       []bool          // [L] masks that came since the row was drawn last
	grows       bool            // its length changed
	drawn       bool            // as it is now
	finish      sampling.Finish // "" while it runs
}

func (c *canvas) take(f sampling.Frame, done int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[int]*row{}
	}
	r := c.rows[f.Slot]
	if r == nil {
		r = &row{}
		c.rows[f.Slot] = r
	}
	if r.index != f.Index {
		*r = row{index: f.Index}
	}
	r.reshape(&f)
	r.step, r.steps, r.nfe, r.finish = done, f.Steps, f.NFE, ""
	r.tokens, r.flags = append(r.tokens[:0], f.Tokens...), append(r.flags[:0], f.Flags...)
}

// reshape takes the proposals and the masks that came, where they stand in the row after the step. What came stays marked until it
// was drawn and a further step was made, so that a quick run shows it as well as a slow one.
func (r *row) reshape(f *sampling.Frame) {
	before := len(f.Tokens) + len(f.Deleted)
	for _, in := range f.Inserted {
		before -= int(in.Count)
	}
	if r.drawn || len(r.fresh) != before {
		r.fresh, r.drawn = make([]bool, before), false
	}
	r.guess = slices.Repeat([]int32{-1}, before)
	for i, id := range f.Guess {
		if at := f.GuessAt + i; at < before {
			r.guess[at] = id
		}
	}
	if len(f.Deleted)+len(f.Inserted) == 0 {
		return
	}
	shift := sampling.NewShift(before, f.Deleted, f.Inserted)
	r.guess, r.fresh, r.grows = sampling.Shifted(shift, r.guess, -1), sampling.Shifted(shift, r.fresh, true), true
}

// finish puts the result into the slot that the row lived in and returns that row, or nil.
func (c *canvas) finish(res sampling.Result) *row {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rows {
		if r.index == res.Index {
			r.finish, r.step, r.nfe, r.guess = res.Finish, res.Steps, res.NFE, r.guess[:0]
			if len(res.Tokens) > 0 {
				r.resize(res)
			}
			return r
		}
	}
	return nil
}

// resize takes the final tokens; a row that ended without masks has none left to draw.
func (r *row) resize(res sampling.Result) {
	r.tokens, r.fresh = append(r.tokens[:0], res.Tokens...), nil
	if len(r.flags) != len(r.tokens) || (res.Finish != sampling.FinishCancelled && res.Finish != sampling.FinishError) {
		r.flags = make([]sampling.Flags, len(r.tokens))
	}
}

// Look says how a row is drawn.
type Look struct {
	Width   int  // columns; 0: no limit
	Height  int  // lines; 0: no limit
	Styled  bool // guesses dim; without styles they are blocks, since they could not be told from text
	OneLine bool // head and text of a row on one line
}

var (
	dim   = lipgloss.NewStyle().Faint(true)
	title = lipgloss.NewStyle().Bold(true)
	fresh = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true)
)

// The signs of a mask, and of one that a step has just inserted.
const (
	block = "░"
	newly = "▓"
)

// draw renders the rows in the order of their index.
func (c *canvas) draw(piece Piece, look Look) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := make([]*row, 0, len(c.rows))
	for _, r := range c.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.index, b.index) })
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.Split(r.draw(piece, look), "\n")...)
	}
	if more := len(lines) - look.Height; look.Height > 0 && more > 0 {
		lines = append(lines[:look.Height-1], fmt.Sprintf("... %d more lines", more+1))
	}
	return strings.Join(lines, "\n")
}

func (r *row) draw(piece Piece, look Look) string {
	head := fmt.Sprintf("row %d  step %d/%d  nfe %d", r.index, r.step, r.steps, r.nfe)
	if r.finish != "" {
		head = fmt.Sprintf("row %d  %s  steps %d  nfe %d", r.index, r.finish, r.step, r.nfe)
	}
	if r.grows {
		head += fmt.Sprintf("  length %d", len(r.tokens))
	}
	r.drawn = true
	text := r.text(piece, look.Styled)
	if look.OneLine {
		return head + "  " + strings.ReplaceAll(text, "\n", " ")
	}
	if look.Styled {
		head = title.Render(head)
	}
	if look.Width > 0 {
		head, text = ansi.Truncate(head, look.Width, ""), ansi.Hardwrap(text, look.Width, true)
	}
	return head + "\n" + text
}

// text joins the pieces; runs of one style are styled once.
func (r *row) text(piece Piece, styled bool) string {
	var out, run strings.Builder
	var in *lipgloss.Style // of the run; nil: none
	put := func(text string, style *lipgloss.Style) {
		if style != in {
			out.WriteString(render(run.String(), in))
			run.Reset()
			in = style
		}
		run.WriteString(text)
	}
	for i, id := range r.tokens {
		came := i < len(r.fresh) && r.fresh[i]
		switch {
		case r.flags[i]&sampling.Masked == 0:
			put(ansi.Strip(piece(id)), nil)
		case came && styled:
			put(block, &fresh)
		case came:
			put(newly, nil)
		case styled && i < len(r.guess) && r.guess[i] >= 0:
			put(cmp.Or(ansi.Strip(piece(r.guess[i])), block), &dim)
		default:
			put(block, nil)
		}
	}
	return out.String() + render(run.String(), in)
}

func render(text string, style *lipgloss.Style) string {
	if style == nil || text == "" {
		return text
	}
	return style.Render(text)
}
