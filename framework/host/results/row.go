// Package results writes the answers of a sampling run and reads the questions.
//
// Answers come out in input order, one line and one write each, whatever order the rows finish in. A file of answers
// can be resumed: beside an unfinished FILE stands FILE.resume with the run's settings and the rows that finished out
// of order, so that a run that is interrupted, killed or stopped by a full disk loses no finished row.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Format is the form of the answers.
type Format string

// The formats. In Text a row without an answer (cancelled or failed) has no line.
const (
	Text  Format = "text"
	JSONL Format = "jsonl"
)

// Row is one answer.
type Row struct {
	Index  int64           `json:"index"`
	Seed   uint64          `json:"seed"` // of the run
	Text   string          `json:"text"` // without special tokens, prompt included
	Tokens []int32         `json:"tokens"`
	Length int             `json:"length"` // len(Tokens)
	NFE    int             `json:"nfe"`
	Steps  int             `json:"steps"`
	Finish sampling.Finish `json:"finish"`
	MS     float64         `json:"ms"`
	Error  string          `json:"error,omitempty"`

	NFEUntil   *int `json:"nfe_until,omitempty"`   // with stop_at end: forwards until the stop rule was met, NFE where it was not
	NFEPartial int  `json:"nfe_partial,omitempty"` // of NFE: forwards over a window of positions alone
	Capped     int  `json:"capped,omitempty"`      // of rows that grow: steps whose insertions the cap on length refused

	StepMap []int32           `json:"step_map,omitempty"` // details: [L] step that opened the position, -1 where given
	Born    []int32           `json:"born,omitempty"`     // details of rows that grow: [L] step that inserted the position, -1 where it was there from the start
	Logp    Logps             `json:"logp,omitempty"`     // details: [L] nats when it was opened
	Digests map[string]string `json:"digests,omitempty"`  // details: of the model and its parts
}

// NewRow returns the answer of a result; text is the decoded row.
func NewRow(r sampling.Result, seed uint64, text string) Row {
	row := Row{
		Index: r.Index, Seed: seed, Text: text, Tokens: r.Tokens, Length: len(r.Tokens), NFE: r.NFE, Steps: r.Steps,
		Finish: r.Finish, MS: math.Round(r.Elapsed.Seconds()*1e6) / 1e3, NFEPartial: r.Partial, Capped: r.Capped,
	}
	if row.Tokens == nil {
		row.Tokens = []int32{}
	}
	if r.Err != nil {
		row.Error = r.Err.Error()
	}
	return row
}

// WithDetails adds step map, steps of birth, log-probabilities at opening and digests.
func (r Row) WithDetails(from sampling.Result, digests map[string]string) Row {
	r.StepMap, r.Born, r.Logp, r.Digests = from.StepMap, from.Born, from.Logp, digests
	return r
}

// finished tells whether the row has its answer and need not be done again.
func (r Row) finished() bool {
	return r.Finish != sampling.FinishCancelled && r.Finish != sampling.FinishError && r.Finish != ""
}

// render returns the row's line.
func (r Row) render(f Format) ([]byte, error) {
	if f == Text {
		if !r.finished() {
			return nil, nil
		}
		return []byte(r.Text + "\n"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("row %d: cannot be written as JSON: %w", r.Index, err)
	}
	return b.Bytes(), nil
}

// Logps are log-probabilities; NaN, where the planner did not ask for any, is null in JSON.
type Logps []float32

// MarshalJSON writes numbers and null.
func (l Logps) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range l {
		if i > 0 {
			b = append(b, ',')
		}
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, f, 'g', -1, 32)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Logps) UnmarshalJSON(text []byte) error {
	var values []*float32
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*l = make(Logps, len(values))
	for i, v := range values {
		(*l)[i] = float32(math.NaN())
		if v != nil {
			(*l)[i] = *v
		}
	}
	return nil
}
