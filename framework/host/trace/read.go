// Package trace reads the traces of sampling runs back, replays their rows, shows them in a terminal and compares two.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/view/page"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Trace is a trace that was read.
type Trace struct {
	Name    string // of the file
	Header  sampling.TraceHeader
	Rows    []*Row // by index
	LeftOut int    // rows that the file had no room for
	Torn    int    // number of the line in which the file ends too early, 0 in a whole file; see [Options]

	pieces  map[int32]string
	special map[int32]bool
	mask    int32 // -1: the trace does not say and nothing tells
}

// Row is one row of a trace.
type Row struct {
	Index int64
	Start []int32               // [L] when it was admitted
	Free  []int32               // positions that held a token then and may be revised
	Steps []sampling.TraceEvent // in order
	End   *sampling.TraceEvent  // nil where the run was killed before

	length int // after the steps that were read
}

// Options say how a trace is read.
type Options struct {
	// Partial takes a file that ends in the middle of a line, as a run that was killed leaves it, up to there.
	Partial bool
}

// IsPage tells whether a file of this name is to be a page.
func IsPage(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".html") || strings.HasSuffix(lower, ".htm")
}

// Open reads a trace from a file: JSON lines, or a page.
func Open(name string, o Options) (*Trace, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Read(name, text, o)
}

// longest bounds the cap on growing rows, so that no file makes a reader take all memory.
const longest = 1 << 16

const howto = "`mdmhost sample --trace FILE` writes one"

// Read reads a trace. name is what errors call it; they name the line, too.
func Read(name string, text []byte, o Options) (*Trace, error) {
	first := 1
	if lines, before, is := page.Trace(text); is {
		first, text = first+before, lines
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: is empty, expected a trace; %s", name, howto)
	}
	t := &Trace{Name: name, pieces: map[int32]string{}, special: map[int32]bool{}, mask: -1}
	rows := map[int64]*Row{}
	for n := first; len(text) > 0; n++ {
		line, rest, ends := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var err error
		if t.Header.Trace == 0 {
			err = t.header(line)
		} else {
			err = t.event(line, rows)
		}
		switch {
		case err == nil:
		case !ends && !json.Valid(line):
			if t.Header.Trace == 0 {
				return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
			}
			if t.Torn = n; !o.Partial {
				return nil, fmt.Errorf("%s: line %d ends in the middle: the run that wrote it was killed, or the file was cut; --partial reads what stands before it", name, n)
			}
		default:
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
	}
	slices.SortFunc(t.Rows, func(a, b *Row) int { return int(min(max(a.Index-b.Index, -1), 1)) })
	t.guessMask()
	return t, nil
}

func (t *Trace) header(line []byte) error {
	h := sampling.TraceHeader{Trace: -1}
	if err := json.Unmarshal(line, &h); err != nil || h.Trace == -1 {
		return fmt.Errorf(`expected a trace, which begins with {"trace":%d, ...}; %s`, sampling.TraceVersion, howto)
	}
	if h.Trace < 1 || h.Trace > sampling.TraceGrowingVersion {
		return fmt.Errorf("the trace is of version %d, expected %d or %d; use the mdmhost that wrote it, or a newer one", h.Trace, sampling.TraceVersion, sampling.TraceGrowingVersion)
	}
	if g := h.Growth; h.Trace == sampling.TraceGrowingVersion && (g == nil || g.Cap < 1 || g.Cap > longest || h.MaskID == nil) {
		return fmt.Errorf("a trace of version %d, whose rows grow: expected growth with a cap from 1 to %d, and mask_id; record the trace anew", h.Trace, longest)
	}
	if g := h.Grid; g != nil && (g.Rows < 1 || g.Cols < 1) {
		return fmt.Errorf("grid: %d rows of %d cells, expected at least one of both; record the trace anew", g.Rows, g.Cols)
	}
	if t.Header = h; h.MaskID != nil {
		t.mask = *h.MaskID
	}
	return nil
}

// event takes one line. Events of kinds that this version does not know are left out, as the format asks.
func (t *Trace) event(line []byte, rows map[int64]*Row) error {
	var e sampling.TraceEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("expected an event of a trace: %w; record the trace anew", err)
	}
	switch e.Event {
	case sampling.TraceTokens:
		for id, text := range e.Pieces {
			t.pieces[id] = text
		}
		for _, id := range e.Special {
			t.special[id] = true
		}
	case sampling.TraceRow:
		if rows[e.Row] != nil {
			return fmt.Errorf("row %d begins a second time; record the trace anew", e.Row)
		}
		r := &Row{Index: e.Row, Start: e.Tokens, Free: e.Free, length: len(e.Tokens)}
		rows[e.Row], t.Rows = r, append(t.Rows, r)
		return r.within(e.Free)
	case sampling.TraceStep:
		r := rows[e.Row]
		if r == nil || r.End != nil {
			return fmt.Errorf("a step of row %d, which is not on its way; record the trace anew", e.Row)
		}
		r.Steps = append(r.Steps, e)
		if err := r.check(&e); err != nil {
			return err
		}
		return t.reshape(r, &e)
	case sampling.TraceEnd:
		r := rows[e.Row]
		if r == nil || r.End != nil {
			return fmt.Errorf("the end of row %d, which is not on its way; record the trace anew", e.Row)
		}
		r.End = &e
	case sampling.TraceLeftOut:
		t.LeftOut = e.Count
	}
	return nil
}

// check holds a step against its row.
func (r *Row) check(e *sampling.TraceEvent) error {
	at := slices.Concat(e.Remasked, e.Deleted)
	for _, w := range slices.Concat(e.Opened, e.Guess) {
		at = append(at, w[0])
	}
	if err := r.within(at); err != nil {
		return err
	}
	for name, list := range map[string]sampling.Nats{"logp": e.Logp, "entropies": e.Entropies} {
		if len(list) != 0 && len(list) != len(e.Opened) {
			return fmt.Errorf("%s has %d numbers for %d opened tokens; record the trace anew", name, len(list), len(e.Opened))
		}
	}
	return nil
}

func (r *Row) within(positions []int32) error {
	for _, p := range positions {
		if p < 0 || int(p) >= r.length {
			return fmt.Errorf("position %d of row %d, which has %d; record the trace anew", p, r.Index, r.length)
		}
	}
	return nil
}

// reshape holds what leaves and comes against the row and its cap, and takes the length that the step leaves. A row may be longer than
// the cap from its start, but does not grow then.
func (t *Trace) reshape(r *Row, e *sampling.TraceEvent) error {
	if len(e.Deleted)+len(e.Inserted) == 0 {
		return nil
	}
	if t.Header.Growth == nil {
		return fmt.Errorf("row %d changes its length, but the trace is of version %d, whose rows keep theirs; record the trace anew", r.Index, t.Header.Trace)
	}
	gone := slices.Clone(e.Deleted)
	slices.Sort(gone)
	if len(slices.Compact(gone)) < len(e.Deleted) {
		return fmt.Errorf("a position of row %d leaves it twice; record the trace anew", r.Index)
	}
	kept, added := r.length-len(e.Deleted), 0
	for _, in := range e.Inserted {
		if in[0] < 0 || int(in[0]) > kept || in[1] < 1 {
			return fmt.Errorf("%d masks in gap %d of row %d, which has gaps 0 to %d; record the trace anew", in[1], in[0], r.Index, kept)
		}
		if added += int(in[1]); kept+added > t.Header.Growth.Cap {
			return fmt.Errorf("row %d grows to more than %d positions, the cap that the trace names; record the trace anew", r.Index, t.Header.Growth.Cap)
		}
	}
	r.length = kept + added
	return nil
}

// guessMask finds the mask of traces that do not name it: what stood where the first token was opened.
func (t *Trace) guessMask() {
	for _, r := range t.Rows {
		for _, s := range r.Steps {
			if t.mask < 0 && len(s.Opened) > 0 { // such a trace's rows keep their length
				t.mask = r.Start[s.Opened[0][0]]
			}
		}
	}
}
