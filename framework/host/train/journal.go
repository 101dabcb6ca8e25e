package train

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// journal is the file log of a run: what the run says, line by line with the time. A nil journal takes everything and keeps
// nothing.
type journal struct {
	file io.WriteCloser
	now  func() time.Time
}

// openJournal opens a journal to go on with.
func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &journal{f, time.Now}, nil
}

// Write implements [io.Writer] for whole lines. A disk that is full stops no run here: what a run needs is written elsewhere.
func (j *journal) Write(text []byte) (int, error) {
	if j == nil {
		return len(text), nil
	}
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		fmt.Fprintf(&b, "%s  %s\n", j.now().Format(time.RFC3339), bytes.TrimRight(line, "\n"))
	}
	_, _ = j.file.Write(b.Bytes())
	return len(text), nil
}

// error notes what ended a run, if something did.
func (j *journal) error(err error) {
	if err != nil {
		_, _ = fmt.Fprintf(j, "error     %v\n", err)
	}
}
