package data

import (
	"fmt"
	"strings"
)

// shownLines is how many bad lines a message lists.
const shownLines = 5

// BadLine is a line that cannot be used.
type BadLine struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Text string `json:"text"` // what was expected and seen
}

// String reads "FILE:LINE: what is wrong".
func (b BadLine) String() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Text) }

// BadLinesError lists lines that cannot be used.
type BadLinesError struct {
	First []BadLine // up to five
	Count int64     // all
	Do    string    // what to do
}

// Error lists the first lines and the number of all.
func (e *BadLinesError) Error() string {
	if e.Count == 1 {
		return e.First[0].String() + "; " + e.Do
	}
	var b strings.Builder
	fmt.Fprintf(&b, "data: %d bad lines; %s", e.Count, e.Do)
	for _, line := range e.First {
		b.WriteString("\n  " + line.String())
	}
	if more := e.Count - int64(len(e.First)); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// badLines collects them.
type badLines struct {
	first []BadLine
	count int64
}

func (b *badLines) add(file string, line int, text string) {
	if b.count++; len(b.first) < shownLines {
		b.first = append(b.first, BadLine{file, line, text})
	}
}

// err returns the lines as an error that ends with what to do, nil when there are none.
func (b *badLines) err(do string) error {
	if b.count == 0 {
		return nil
	}
	return &BadLinesError{b.first, b.count, do}
}

// clip shortens what is quoted in a message.
func clip(text string) string {
	if r := []rune(text[:min(len(text), 200)]); len(r) > 40 {
		return strings.ToValidUTF8(string(r[:40]), "\ufffd") + "..."
	}
	return text
}
