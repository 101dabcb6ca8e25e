package trace

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Summary says in numbers what a trace holds. Steps count from 0, as step maps do.
type Summary struct {
	Trace        int              `json:"trace"` // version of the format
	Model        string           `json:"model"`
	Planner      string           `json:"planner"`
	Options      any              `json:"options,omitempty"` // of the planner
	Sampler      string           `json:"sampler"`
	Seed         uint64           `json:"seed"`
	Provider     string           `json:"provider,omitempty"`
	NFE          int              `json:"nfe"` // of all rows
	Tokens       int              `json:"tokens"`
	TokensPerNFE float64          `json:"tokens_per_nfe"`
	Growth       *sampling.Growth `json:"growth,omitempty"`       // how rows grow
	LeftOut      int              `json:"left_out,omitempty"`     // rows that the file had no room for
	TornAtLine   int              `json:"torn_at_line,omitempty"` // where a file ends too early
	Rows         []RowSummary     `json:"rows"`
}

// RowSummary is one row of a [Summary].
type RowSummary struct {
	Row         int64   `json:"row"`
	Finish      string  `json:"finish"` // of the row, or "unfinished"
	NFE         int     `json:"nfe"`
	Steps       int     `json:"steps"`
	Blanks      int     `json:"blanks"`             // at the start
	Opened      int     `json:"opened"`             // of them, and of those inserted, in the end
	Revised     int     `json:"revised"`            // positions masked again or overwritten on the way
	Overwritten int     `json:"overwritten"`        // of them, those that took another token without being masked
	Length      int     `json:"length,omitempty"`   // L in the end; this and the next three of rows that grow
	Inserted    int     `json:"inserted,omitempty"` // masks
	Deleted     int     `json:"deleted,omitempty"`  // positions
	Capped      int     `json:"capped,omitempty"`   // steps whose insertions the cap refused
	Text        string  `json:"text,omitempty"`
	Error       string  `json:"error,omitempty"`
	StepMap     []int   `json:"step_map,omitempty"` // [L] step that wrote the position last, -1 where none did
	Born        []int   `json:"born,omitempty"`     // [L] of rows that grow: step that inserted the position, -1 where it was there from the start
	Timeline    []Point `json:"timeline,omitempty"` // of the recorded steps, where one row is asked for
}

// Point is a step of a timeline.
type Point struct {
	Step        int      `json:"step"`
	NFE         int      `json:"nfe"`
	Opened      int      `json:"opened"` // positions that were masked
	Overwritten int      `json:"overwritten"`
	Remasked    int      `json:"remasked"`
	Masked      int      `json:"masked"`           // after the step
	Length      int      `json:"length,omitempty"` // after the step; this and the next two of rows that grow
	Inserted    int      `json:"inserted,omitempty"`
	Deleted     int      `json:"deleted,omitempty"`
	Entropy     *float64 `json:"entropy,omitempty"` // mean over masked positions before it, nats
}

// Summarise returns the numbers of a trace, with timelines and step maps of the rows in only, or of none without any.
func (t *Trace) Summarise(only ...*Row) Summary {
	h := t.Header
	s := Summary{Trace: h.Trace, Model: h.Model, Planner: h.Planner, Options: h.Options, Sampler: h.Sampler, Seed: h.Seed, Provider: h.Provider, Growth: h.Growth,
		LeftOut: t.LeftOut, TornAtLine: t.Torn, Rows: []RowSummary{}}
	rows := t.Rows
	if len(only) > 0 {
		rows = only
	}
	for _, r := range rows {
		row := t.summary(r)
		if len(only) > 0 {
			c := t.Replay(r, len(r.Steps))
			row.StepMap, row.Timeline = r.steps(c.Written), t.timeline(r)
			if h.Growth != nil {
				row.Born = r.steps(c.Born)
			}
		}
		s.Rows = append(s.Rows, row)
		s.NFE, s.Tokens = s.NFE+row.NFE, s.Tokens+row.Opened
	}
	s.TokensPerNFE = ratio(s.Tokens, s.NFE)
	return s
}

func (t *Trace) summary(r *Row) RowSummary {
	row := RowSummary{Row: r.Index, Finish: r.Finish(), NFE: r.NFE(), Steps: r.StepCount(), Blanks: t.Blanks(r.Start), Revised: r.Remasked(), Text: t.text(t.Final(r))}
	var final Canvas
	for c := range t.play(r, len(r.Steps)) {
		row.Overwritten, final = row.Overwritten+len(c.over), *c.Canvas
	}
	row.Revised += row.Overwritten
	for i, id := range final.Tokens {
		if final.Blank[i] && id != t.mask {
			row.Opened++
		}
	}
	for k := range r.Steps {
		row.Inserted, row.Deleted = row.Inserted+masks(&r.Steps[k]), row.Deleted+len(r.Steps[k].Deleted)
	}
	if t.Header.Growth != nil {
		row.Length = len(t.Final(r))
	}
	if r.End != nil {
		row.Error, row.Capped = r.End.Error, r.End.Capped
	}
	return row
}

// steps turns recorded steps, counted from 1, into the numbers of the steps, from 0; -1 for none.
func (r *Row) steps(recorded []int) []int {
	out := make([]int, len(recorded))
	for i, k := range recorded {
		if out[i] = -1; k > 0 {
			out[i] = r.Steps[k-1].Step
		}
	}
	return out
}

// timeline has a point for each recorded step.
func (t *Trace) timeline(r *Row) []Point {
	out, k := make([]Point, 0, len(r.Steps)), -1
	for c := range t.play(r, len(r.Steps)) {
		if k++; k == 0 {
			continue
		}
		s := &r.Steps[k-1]
		p := Point{Step: s.Step, NFE: s.NFE, Opened: len(s.Opened) - len(c.over), Overwritten: len(c.over), Remasked: len(s.Remasked), Masked: t.Blanks(c.Tokens), Entropy: s.Entropy}
		if t.Header.Growth != nil {
			p.Length, p.Inserted, p.Deleted = len(c.Tokens), masks(s), len(s.Deleted)
		}
		out = append(out, p)
	}
	return out
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(1e4*float64(a)/float64(b)) / 1e4
}
