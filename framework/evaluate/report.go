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

// Report is everything that an evaluation found.
type Report struct {
	Model          string             `json:"model"`
	Trainer        string             `json:"trainer"`
	TrainerOptions map[string]any     `json:"trainer_options"`
	Bound          Bound              `json:"bound"`
	Available      int                `json:"rows_available"` // of the data, of which Bound.Rows were taken
	Draws          int                `json:"draws"`          // of noise, over which each row's bound is the mean
	Metrics        map[string]float64 `json:"metrics"`        // the trainer's
	Exact          *ExactReport       `json:"exact,omitempty"`
	Accuracy       *Accuracy          `json:"accuracy,omitempty"`
	Seed           uint64             `json:"seed"`
	Runtime        string             `json:"runtime"`
	Seconds        float64            `json:"seconds"`
	Notes          []string           `json:"notes"`
	Digests        map[string]string  `json:"digests,omitempty"` // of the model and of the plugins that took part, by what they are
}

// ExactReport is what [Enumerate] says of the rows.
type ExactReport struct {
	Bound         Bound      `json:"bound"`          // continuous time
	LogLikelihood Measure    `json:"log_likelihood"` // nats a row, of the sampler that reveals position after position in random order
	BitsPerToken  Measure    `json:"bits_per_token"` // of that log-likelihood
	Finite        *Finite    `json:"finite,omitempty"`
	Rows          []ExactRow `json:"rows"`
}

// Finite is the bound of T steps of a schedule.
type Finite struct {
	T        int    `json:"t"`
	Schedule string `json:"schedule"`
	Bound    Bound  `json:"bound"` // with reconstruction and prior
}

// ExactRow is one row, in nats.
type ExactRow struct {
	Bound         float64  `json:"bound"`
	LogLikelihood float64  `json:"log_likelihood"`
	Finite        *float64 `json:"finite,omitempty"`
	Tokens        int      `json:"tokens"`
}

// Write prints the report for people, a line for each part.
func (r *Report) Write(w io.Writer) error {
	var b bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line(strings.ReplaceAll(r.Bound.Kind, "_", " "), "%s", r.Bound.describe())
	rows := fmt.Sprint(r.Bound.Rows)
	if r.Available > r.Bound.Rows {
		rows += fmt.Sprintf(" of %d", r.Available)
	}
	line("rows", "%s, %d tokens, %d characters, %s of noise", rows, r.Bound.Tokens, r.Bound.Characters, count(r.Draws, "draw"))
	var metrics []string
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		metrics = append(metrics, fmt.Sprintf("%s %.4f", name, r.Metrics[name]))
	}
	if len(metrics) > 0 {
		line("metrics", "%s", strings.Join(metrics, ", "))
	}
	if e := r.Exact; e != nil {
		line("exact", "%s", e.Bound.describe())
		if f := e.Finite; f != nil {
			line("T = "+fmt.Sprint(f.T), "%s, %s schedule", f.Bound.describe(), f.Schedule)
		}
		line("log p", "%s nats per row in random order, %s bits per token", e.LogLikelihood, e.BitsPerToken)
	}
	if a := r.Accuracy; a != nil {
		line("accuracy", "%s %% of %d cells, %s %% of %s; NFE %.1f a row", a.Cells.Times(100), a.FreeCells, a.Rows.Times(100), count(a.Asked, "row"), a.NFE)
		line("planner", "%s, sampler %s", a.Planner, a.Sampler)
	}
	trainer := r.Trainer
	for _, name := range slices.Sorted(maps.Keys(r.TrainerOptions)) {
		trainer += fmt.Sprintf(" %s=%v", name, r.TrainerOptions[name])
	}
	line("ran", "model %s, trainer %s, runtime %s, in %s", r.Model, trainer, r.Runtime, time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
	line("seed", "%d", r.Seed)
	_, err := w.Write(b.Bytes())
	return err
}

func (b *Bound) describe() string {
	text := fmt.Sprintf("%s nats per row, %s bits per token", b.NatsPerRow, b.BitsPerToken)
	if b.BitsPerCharacter != nil && b.Characters != b.Tokens {
		text += fmt.Sprintf(", %s per character", b.BitsPerCharacter)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
