package trace

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Summary says in numbers what a trace holds. Steps count from 0, as step maps do.
type Summary struct {
	Trace        int          `json:"trace"` // version of the format
	Model        string       `json:"model"`
	Planner      string       `json:"planner"`
	Options      any          `json:"options,omitempty"` // of the planner
	Sampler      string       `json:"sampler"`
	Seed         uint64       `json:"seed"`
	Provider     string       `json:"provider,omitempty"`
	NFE          int          `json:"nfe"` // of all rows
	Tokens       int          `json:"tokens"`
	TokensPerNFE float64      `json:"tokens_per_nfe"`
	LeftOut      int          `json:"left_out,omitempty"`     // rows that the file had no room for
	TornAtLine   int          `json:"torn_at_line,omitempty"` // where a file ends too early
	Rows         []RowSummary `json:"rows"`
}

// RowSummary is one row of a [Summary].
type RowSummary struct {
	Row         int64   `json:"row"`
	Finish      string  `json:"finish"` // of the row, or "unfinished"
	NFE         int     `json:"nfe"`
	Steps       int     `json:"steps"`
	Blanks      int     `json:"blanks"`      // at the start
	Opened      int     `json:"opened"`      // of them, in the end
	Revised     int     `json:"revised"`     // positions masked again or overwritten on the way
	Overwritten int     `json:"overwritten"` // of them, those that took another token without being masked
	Text        string  `json:"text,omitempty"`
	Error       string  `json:"error,omitempty"`
	StepMap     []int   `json:"step_map,omitempty"` // [L] step that wrote the position last, -1 where none did
	Timeline    []Point `json:"timeline,omitempty"` // of the recorded steps, where one row is asked for
}

// Point is a step of a timeline.
type Point struct {
	Step        int      `json:"step"`
	NFE         int      `json:"nfe"`
	Opened      int      `json:"opened"` // positions that were masked
	Overwritten int      `json:"overwritten"`
	Remasked    int      `json:"remasked"`
	Masked      int      `json:"masked"`            // after the step
	Entropy     *float64 `json:"entropy,omitempty"` // mean over masked positions before it, nats
}

// Summarise returns the numbers of a trace, with timelines and step maps of the rows in only, or of none without any.
func (t *Trace) Summarise(only ...*Row) Summary {
	h := t.Header
	s := Summary{Trace: h.Trace, Model: h.Model, Planner: h.Planner, Options: h.Options, Sampler: h.Sampler, Seed: h.Seed, Provider: h.Provider,
		LeftOut: t.LeftOut, TornAtLine: t.Torn, Rows: []RowSummary{}}
	rows := t.Rows
	if len(only) > 0 {
		rows = only
	}
	for _, r := range rows {
		row := t.summary(r)
		if len(only) > 0 {
			row.StepMap, row.Timeline = t.stepMap(r), t.timeline(r)
		}
		s.Rows = append(s.Rows, row)
		s.NFE, s.Tokens = s.NFE+row.NFE, s.Tokens+row.Opened
	}
	s.TokensPerNFE = ratio(s.Tokens, s.NFE)
	return s
}

func (t *Trace) summary(r *Row) RowSummary {
	final := t.Replay(r, len(r.Steps)).Tokens
	row := RowSummary{Row: r.Index, Finish: r.Finish(), NFE: r.NFE(), Steps: r.StepCount(), Blanks: t.Blanks(r.Start), Text: t.text(t.Final(r))}
	for _, over := range t.overwrites(r) {
		row.Overwritten += len(over)
	}
	row.Revised = row.Overwritten + r.Remasked()
	if row.Opened = row.Blanks - t.Blanks(final); r.End != nil {
		row.Error = r.End.Error
	}
	return row
}

// stepMap is [L]: the step that wrote each position last, -1 where none did.
func (t *Trace) stepMap(r *Row) []int {
	c := t.Replay(r, len(r.Steps))
	out := make([]int, len(c.Written))
	for i, k := range c.Written {
		if out[i] = -1; k > 0 {
			out[i] = r.Steps[k-1].Step
		}
	}
	return out
}

func (t *Trace) timeline(r *Row) []Point {
	out, overwrites := make([]Point, 0, len(r.Steps)), t.overwrites(r)
	tokens := t.Replay(r, 0).Tokens
	masked := t.Blanks(tokens)
	for k, s := range r.Steps {
		masked = t.advance(tokens, masked, &s)
		over := len(overwrites[k])
		out = append(out, Point{Step: s.Step, NFE: s.NFE, Opened: len(s.Opened) - over, Overwritten: over, Remasked: len(s.Remasked), Masked: masked, Entropy: s.Entropy})
	}
	return out
}

// advance applies a step to the tokens and returns how many are masked then.
func (t *Trace) advance(tokens []int32, masked int, s *sampling.TraceEvent) int {
	put := func(p, id int32) {
		if tokens[p] == t.mask {
			masked--
		}
		if tokens[p] = id; id == t.mask {
			masked++
		}
	}
	for _, w := range s.Opened {
		put(w[0], w[1])
	}
	for _, p := range s.Remasked {
		put(p, t.mask)
	}
	return masked
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(1e4*float64(a)/float64(b)) / 1e4
}
