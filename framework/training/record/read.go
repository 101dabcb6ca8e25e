package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Read returns the lines of metrics.jsonl. A last line that is not whole is left out: a run that writes the file now may
// be in the middle of it, and [Open] repairs it. Any other malformed line is an error.
func Read(path string) ([]Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines, _, err := scan(path, f, math.MaxInt64)
	return lines, err
}

// scan reads the lines of the steps up to last, and returns how many bytes they take. Behind them there may be one torn
// line, and whatever a later step wrote.
func scan(name string, r io.Reader, last int64) (lines []Line, size int64, err error) {
	b := bufio.NewReaderSize(r, 1<<16)
	var torn error
	for n, step := 1, int64(0); ; n++ {
		text, end := b.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return nil, 0, fmt.Errorf("%s: %w", name, end)
		}
		if len(text) == 0 {
			return lines, size, nil
		}
		if torn != nil {
			return nil, 0, fmt.Errorf("%s:%w; remove that line", name, torn)
		}
		l, err := decode(text)
		switch {
		case err != nil || end != nil: // without its newline a line is not whole
			torn = fmt.Errorf("%d: %w", n, err)
			continue
		case l.Step < step:
			return nil, 0, fmt.Errorf("%s:%d: is of step %d after one of step %d; the file holds two runs: move it away", name, n, l.Step, step)
		case l.Step > last:
			return lines, size, nil
		}
		step = l.Step
		lines, size = append(lines, l), size+int64(len(text))
	}
}
