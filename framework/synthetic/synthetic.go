// Package synthetic makes data whose truth is known, for studies of the order in which sequences are written: star graphs,
// balanced brackets and words around a separator. It also says how good what a model wrote is.
package synthetic

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Row is one datum: a line of a JSON Lines file.
type Row struct {
	Prompt string `json:"prompt,omitempty"`
	Text   string `json:"text"`
	// Distance tells of every character of Text how many edges its node is from the junction of a star graph.
	Distance []int `json:"distance,omitempty"`
}

// Task is a law of rows.
type Task interface {
	// Validate says what is wrong with its sizes.
	Validate() error
	// Draw makes one row of a valid task.
	Draw(rng *rand.Rand) Row
	// Limits returns the most characters of a prompt and of a text.
	Limits() (prompt, text int)
}

// Fill stands behind texts that are brought to one length, for models of rows whose length is known.
const Fill = "_"

// Filled returns the row with a text of at least n characters.
func (r Row) Filled(n int) Row {
	r.Text += strings.Repeat(Fill, max(0, n-len(r.Text)))
	return r
}

// Unfilled returns a text without the [Fill] at its end.
func Unfilled(text string) string { return strings.TrimRight(text, Fill) }

// source returns the noise of one of a data set's files.
func source(seed uint64, file int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(file))) }

// atLeast is an error of a size that is too small.
func atLeast(name string, value, least int, why string) error {
	if value < least {
		return fmt.Errorf("%s: expected at least %d, %s, found %d", name, least, why, value)
	}
	return nil
}
