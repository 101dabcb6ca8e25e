package supervise

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// lastWords keeps the end of what a process wrote to standard error, for the error that reports its death.
type lastWords struct {
	mu    sync.Mutex
	lines []string
	part  []byte
}

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
			w.lines = append(w.lines, text)
			w.lines = w.lines[max(0, len(w.lines)-keptLines):]
		}
		w.part, rest = w.part[:0], after
	}
	return len(p), nil
}

// String tells the last lines in one: those from a Go panic on, or the last three.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	if text := readable(w.part); text != "" {
		lines = append(lines[:len(lines):len(lines)], text)
	}
	from := max(0, len(lines)-toldLines)
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			from = i
			break
		}
	}
	return strings.Join(lines[from:min(len(lines), from+toldLines)], " | ")
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
	return strings.TrimSpace(string(line))
}
