package sampling

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strconv"
)

// guessCells bounds how many proposals a trace may hold: rows get theirs recorded, in the order of their admission, as long
// as the sum of blanks x steps stays below.
const guessCells = 1 << 20

// Spell returns how a token reads within a row; special says that it is no text, but the name of a special token.
type Spell func(id int32) (text string, special bool)

// Trace is an [Observer] that writes every step as a line of JSON. The lines hold no "<", so that a page may embed them.
type Trace struct {
	// Spell, set before the first row, makes the trace say how its tokens read.
	Spell Spell
	// Limit is the size in bytes beyond which no further row is taken; 0: none. Rows on their way are completed.
	Limit int64

	w       *bufio.Writer
	out     *counter64
	enc     *json.Encoder
	err     error
	rows    map[int64]*traced // on their way
	spelt   map[int32]bool
	most    int // positions of a row that grows; 0: rows keep their length
	cells   int // left of guessCells
	leftOut int
}

// traced is what the trace knows of a row on its way.
type traced struct {
	masked []bool  // [L]
	guess  []int32 // [L] as recorded last; nil where the row's proposals are not recorded
}

// counter64 counts bytes.
type counter64 struct {
	w io.Writer
	n int64
}

func (c *counter64) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// NewTrace writes the header. The trace is complete after [Trace.Flush].
func NewTrace(w io.Writer, h TraceHeader) *Trace {
	b := bufio.NewWriter(w)
	out := &counter64{w: b}
	t := &Trace{w: b, out: out, enc: json.NewEncoder(out), rows: map[int64]*traced{}, spelt: map[int32]bool{}, cells: guessCells}
	if h.Trace = TraceVersion; h.Growth != nil {
		h.Trace, t.most = TraceGrowingVersion, h.Growth.Cap
	}
	t.put(h)
	t.sync()
	return t
}

func (t *Trace) put(v any) {
	if t.err == nil {
		t.err = t.enc.Encode(v)
	}
}

// Call writes a question to the planner and its answer.
func (t *Trace) Call(c TraceCall) { t.put(c) }

// LeftOut returns how many rows the limit kept out.
func (t *Trace) LeftOut() int { return t.leftOut }

// Flush writes what is buffered, after a line that says how many rows were left out, and returns the first error of the
// trace. Nothing may follow it.
func (t *Trace) Flush() error {
	if t.leftOut > 0 {
		t.put(TraceEvent{Event: TraceLeftOut, Count: t.leftOut})
	}
	t.sync()
	return t.err
}

// sync hands on what is buffered, so that a run that is killed leaves its finished rows.
func (t *Trace) sync() {
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
}

// Admitted implements [Observer].
func (t *Trace) Admitted(f Frame) {
	if t.Limit > 0 && t.out.n > t.Limit {
		t.leftOut++
		return
	}
	r := &traced{masked: make([]bool, len(f.Flags))}
	e := TraceEvent{Event: TraceRow, Row: f.Index, Tokens: f.Tokens}
	blanks := 0
	for i, flag := range f.Flags {
		switch r.masked[i] = flag&Masked != 0; {
		case r.masked[i]:
			blanks++
		case flag&Fixed == 0:
			e.Free = append(e.Free, int32(i))
		}
	}
	if cost := max(blanks, t.most) * max(f.Steps, 1); cost <= t.cells {
		t.cells -= cost
		r.guess = make([]int32, len(f.Tokens))
		for i := range r.guess {
			r.guess[i] = -1
		}
	}
	t.rows[f.Index] = r
	t.say(f.Tokens)
	t.put(e)
}

// Stepped implements [Observer].
func (t *Trace) Stepped(f Frame) {
	r := t.rows[f.Index]
	if r == nil {
		return
	}
	e := TraceEvent{Event: TraceStep, Row: f.Index, Step: f.Step, NFE: f.NFE, Deleted: f.Deleted, Metrics: f.Metrics, Entropy: r.entropy(&f)}
	shift := NewShift(len(r.masked), f.Deleted, f.Inserted)
	for _, in := range f.Inserted {
		e.Inserted = append(e.Inserted, [2]int32{in.Gap, in.Count})
	}
	for _, p := range f.Remasked {
		if shift.To[p] >= 0 {
			e.Remasked = append(e.Remasked, p)
		}
	}
	for _, p := range f.Opened {
		to := shift.To[p]
		if to < 0 {
			continue
		}
		e.Opened = append(e.Opened, [2]int32{p, f.Tokens[to]})
		if f.Logp != nil {
			e.Logp = append(e.Logp, f.Logp[to])
		}
		if i := int(p) - f.GuessAt; i >= 0 && i < len(f.Entropy) {
			e.Entropies = append(e.Entropies, f.Entropy[i])
		}
	}
	if len(e.Entropies) < len(e.Opened) {
		e.Entropies = nil
	}
	r.step(&f, &e, shift)
	for _, written := range [][][2]int32{e.Opened, e.Guess} {
		for _, w := range written {
			t.say(w[1:])
		}
	}
	t.put(e)
}

// entropy is the mean over the positions that are masked and took part in the pass; nil without any.
func (r *traced) entropy(f *Frame) *float64 {
	sum, n := 0.0, 0
	for i, h := range f.Entropy {
		if at := f.GuessAt + i; at < len(r.masked) && r.masked[at] && i < len(f.Guess) && f.Guess[i] >= 0 {
			sum, n = sum+float64(h), n+1
		}
	}
	if mean := sum / float64(n); n > 0 && !math.IsNaN(mean) && !math.IsInf(mean, 0) {
		mean, _ = strconv.ParseFloat(strconv.FormatFloat(mean, 'g', 5, 64), 64) // no more digits than the other numbers
		return &mean
	}
	return nil
}

// step brings the row's state up to date and adds the proposals that changed.
func (r *traced) step(f *Frame, e *TraceEvent, shift Shift) {
	for _, p := range f.Opened {
		r.masked[p] = false
	}
	for _, p := range f.Remasked {
		r.masked[p] = true
	}
	for i, g := range f.Guess {
		if at := f.GuessAt + i; r.guess != nil && g >= 0 && r.masked[at] && shift.To[at] >= 0 && r.guess[at] != g {
			r.guess[at] = g
			e.Guess = append(e.Guess, [2]int32{int32(at), g})
		}
	}
	if len(f.Deleted)+len(f.Inserted) == 0 {
		return
	}
	if r.masked = Shifted(shift, r.masked, true); r.guess != nil {
		r.guess = Shifted(shift, r.guess, -1)
	}
}

// Finished implements [Observer].
func (t *Trace) Finished(r Result) {
	if t.rows[r.Index] == nil {
		return
	}
	delete(t.rows, r.Index)
	t.say(r.Tokens)
	e := TraceEvent{Event: TraceEnd, Row: r.Index, Step: r.Steps, NFE: r.NFE, Tokens: r.Tokens, Finish: r.Finish, Capped: r.Capped}
	if r.Err != nil {
		e.Error = r.Err.Error()
	}
	t.put(e)
	t.sync()
}

// say spells the tokens that the trace has not met yet.
func (t *Trace) say(ids []int32) {
	if t.Spell == nil {
		return
	}
	var e TraceEvent
	for _, id := range ids {
		if t.spelt[id] {
			continue
		}
		t.spelt[id] = true
		if e.Pieces == nil {
			e.Event, e.Pieces = TraceTokens, map[int32]string{}
		}
		text, special := t.Spell(id)
		if e.Pieces[id] = text; special {
			e.Special = append(e.Special, id)
		}
	}
	if e.Pieces != nil {
		t.put(e)
	}
}
