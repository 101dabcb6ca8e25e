package supervise

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lastWords keeps the end of what a process wrote to standard error, for the error that reports its death.
type lastWords struct {
	mu    sync.Mutex
	lines []string
	cause []string // the lines that tell why the process dies, before stacks and registers
	whole bool     // cause has all of them
	part  []byte
}

// fatal is how a runtime's report of its own end begins: Go's panics, fatal errors, signals and what its C side says before it aborts,
// Rust's panics, and Python's fatal errors.
var fatal = regexp.MustCompile(`^(panic: |fatal error: |runtime/cgo: |Fatal Python error: |SIG[A-Z]+: |thread '.*' panicked at )`)

// dump is how what follows such a report begins.
var dump = regexp.MustCompile(`^(goroutine \d+ |PC=|stack backtrace:)`)

const (
	keptLines = 40
	keptBytes = 4 << 10 // of one line
	toldLines = 3
)

// Write takes a piece of the stream.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := keptBytes - len(w.part); room > 0 {
			w.part = append(w.part, line[:min(room, len(line))]...)
		}
		if !whole {
			break
		}
		if text := readable(w.part); text != "" {
			w.explain(text)
			w.lines = append(w.lines, text)
			w.lines = w.lines[max(0, len(w.lines)-keptLines):]
		}
		w.part, rest = w.part[:0], after
	}
	return len(p), nil
}

// explain keeps the report of a process's end from being pushed out by its own stacks.
func (w *lastWords) explain(line string) {
	if len(w.cause) == 0 && !fatal.MatchString(line) || w.whole {
		return
	}
	if w.whole = dump.MatchString(line); !w.whole {
		w.cause = append(w.cause, line)
		w.whole = len(w.cause) == toldLines
	}
}

// String tells why the process died, if it said so, or its last lines, in one line.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	if text := readable(w.part); text != "" {
		lines = append(lines[:len(lines):len(lines)], text)
	}
	told := lines[max(0, len(lines)-toldLines):]
	if len(w.cause) > 0 {
		told = w.cause
	}
	return strings.Join(told, " | ")
}

// all is everything that is kept, one line under the other.
func (w *lastWords) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(append(append(slices.Clone(w.cause), w.lines...), string(w.part)), "\n")
}

// readable returns the message of a log line in JSON, and any other line as it is.
func readable(line []byte) string {
	var entry struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
	}
	if bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &entry) == nil && entry.Message != "" {
		if entry.Level == "debug" || entry.Level == "trace" {
			return ""
		}
		return entry.Message
	}
	text := strings.TrimSpace(string(line))
	if strings.Trim(text, "^~ ") == "" { // the underlines of Python's tracebacks
		return ""
	}
	return text
}
