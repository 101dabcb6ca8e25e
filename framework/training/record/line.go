// Package record keeps the figures of a training run in metrics.jsonl: one JSON object a line, one line for every so many
// steps and one for every evaluation, in the order of the steps.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Kind says what a line is about.
type Kind string

// The kinds of lines.
const (
	Train Kind = "train" // figures of training, as a rule means since the line before
	Eval  Kind = "eval"  // figures of an evaluation
)

// Line is one line of metrics.jsonl.
//
// JSON has no numbers that are not finite. They are written as null, so that the line at which a run diverged is kept, and
// read as NaN: which of NaN and the infinities it was is lost.
type Line struct {
	Kind            Kind
	Step            int64   // optimiser steps done
	Loss            float64 // what the trainer minimises, in its own unit
	BitsPerToken    float64
	LR              float64 // learning rate; of Train lines only
	GradNorm        float64 // before clipping; of Train lines only
	Rows            int64   // of the data consumed since the start of the run
	Tokens          int64   // trained on since the start of the run
	TokensPerSecond float64 // 0 where it was not measured
	Seconds         float64 // of training since the start of the run, earlier sessions included
	Metrics         map[string]float64
}

// number is a float64 that is null where it is not finite.
type number float64

// MarshalJSON writes null for what JSON cannot hold.
func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// wire is a line as it is written.
type wire struct {
	Kind            Kind              `json:"kind"`
	Step            *int64            `json:"step"`
	Loss            number            `json:"loss"`
	BitsPerToken    number            `json:"bits_per_token"`
	LR              *number           `json:"lr,omitempty"`
	GradNorm        *number           `json:"grad_norm,omitempty"`
	Rows            int64             `json:"rows"`
	Tokens          int64             `json:"tokens"`
	TokensPerSecond number            `json:"tokens_per_s,omitempty"`
	Seconds         number            `json:"seconds"`
	Metrics         map[string]number `json:"metrics,omitempty"`
}

// encode returns the line with its newline. Times are rounded, nothing else is.
func (l Line) encode() ([]byte, error) {
	if (l.Kind != Train && l.Kind != Eval) || l.Step < 0 {
		return nil, fmt.Errorf("line of kind %q and step %d, expected %q or %q and a step from 0 on", l.Kind, l.Step, Train, Eval)
	}
	w := wire{
		Kind: l.Kind, Step: &l.Step, Loss: number(l.Loss), BitsPerToken: number(l.BitsPerToken), Rows: l.Rows, Tokens: l.Tokens,
		TokensPerSecond: number(math.Round(l.TokensPerSecond)), Seconds: number(math.Round(l.Seconds*1e3) / 1e3),
	}
	if l.Kind == Train {
		w.LR, w.GradNorm = (*number)(&l.LR), (*number)(&l.GradNorm)
	}
	if len(l.Metrics) > 0 {
		w.Metrics = make(map[string]number, len(l.Metrics))
		for name, x := range l.Metrics {
			w.Metrics[name] = number(x)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(w)
	return b.Bytes(), err
}

// decode reads a line. Keys that it does not know are ignored.
func decode(text []byte) (Line, error) {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return Line{}, fmt.Errorf("malformed JSON: %w", err)
	}
	if w.Kind != Train && w.Kind != Eval {
		return Line{}, fmt.Errorf("has kind %q, expected %q or %q", w.Kind, Train, Eval)
	}
	if w.Step == nil || *w.Step < 0 {
		return Line{}, errors.New("has no step, expected a number from 0 on")
	}
	l := Line{
		Kind: w.Kind, Step: *w.Step, Loss: float64(w.Loss), BitsPerToken: float64(w.BitsPerToken), Rows: w.Rows, Tokens: w.Tokens,
		TokensPerSecond: float64(w.TokensPerSecond), Seconds: float64(w.Seconds),
	}
	if w.Kind == Train {
		l.LR, l.GradNorm = orNaN(w.LR), orNaN(w.GradNorm)
	}
	if len(w.Metrics) > 0 {
		l.Metrics = make(map[string]float64, len(w.Metrics))
		for name, x := range w.Metrics {
			l.Metrics[name] = float64(x)
		}
	}
	return l, nil
}

// orNaN reads what may be null: encoding/json gives no pointer then.
func orNaN(n *number) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}
