package evaluate

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// PlannedReport is what the bound of a planned sampler found.
type PlannedReport struct {
	Model          string         `json:"model"`
	Method         string         `json:"method"` // p2 or pelbo
	Planner        string         `json:"planner"`
	PlannerOptions map[string]any `json:"planner_options"`
	Bound          Bound          `json:"bound"` // on -log p of the sampler with this planner
	Parts          []Part         `json:"parts"`
	Available      int            `json:"rows_available"` // of the data, of which Bound.Rows were taken
	Draws          int            `json:"draws"`          // over which each row's bound is the mean; 0: exact
	Forwards       int64          `json:"forwards"`       // rows that went through a network
	Seed           uint64         `json:"seed"`
	Runtime        string         `json:"runtime"`
	Seconds        float64        `json:"seconds"`
	Notes          []string       `json:"notes"`

	Digests map[string]string `json:"digests,omitempty"` // of the model and of the plugins and networks that took part, by what they are
}

// Part is a share of a planned bound, of kind term, or another bound beside it. Like bounds, it is of -log p: the negative of what the
// paper calls by its name.
type Part struct {
	Name         string  `json:"name"` // such as "-E_D"
	Kind         string  `json:"kind"` // term, bound, path_bound or exact
	Says         string  `json:"says"`
	NatsPerRow   Measure `json:"nats_per_row"`
	BitsPerToken Measure `json:"bits_per_token"`
}

// Over is the part over rows of nats, with its standard errors.
func (p Part) Over(rows []Row) Part {
	b := NewBound(p.Kind, rows)
	p.NatsPerRow, p.BitsPerToken = b.NatsPerRow, b.BitsPerToken
	return p
}

// Write prints the report for people, a line for each part.
func (r *PlannedReport) Write(w io.Writer) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", strings.ReplaceAll(name, "_", " "), fmt.Sprintf(format, args...))
	}
	line(r.Bound.Kind, "%s", r.Bound.describe())
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "%-10s %s nats per row, %s bits per token: %s\n", p.Name, p.NatsPerRow, p.BitsPerToken, p.Says)
	}
	rows := fmt.Sprint(r.Bound.Rows)
	if r.Available > r.Bound.Rows {
		rows += fmt.Sprintf(" of %d", r.Available)
	}
	how := "exact"
	if r.Draws > 0 {
		how = count(r.Draws, "draw")
	}
	line("rows", "%s, %d tokens, %d characters, %s, %d forwards", rows, r.Bound.Tokens, r.Bound.Characters, how, r.Forwards)
	planner := r.Planner
	for _, name := range slices.Sorted(maps.Keys(r.PlannerOptions)) {
		planner += fmt.Sprintf(" %s=%v", name, r.PlannerOptions[name])
	}
	line("planner", "%s, bound %s", planner, r.Method)
	took := time.Duration(r.Seconds * float64(time.Second))
	line("ran", "model %s, runtime %s, in %s, %s a row", r.Model, r.Runtime, took.Round(time.Millisecond), (took / time.Duration(max(1, r.Bound.Rows))).Round(10*time.Microsecond))
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
	line("seed", "%d", r.Seed)
	_, err := w.Write(b.Bytes())
	return err
}
