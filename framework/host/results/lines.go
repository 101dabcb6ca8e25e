package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// EachLine gives read every line of JSON lines that is not empty, with its place "NAME:LINE"; a byte order mark is left out. The
// error is an [InputError] that lists every line that read found bad; no line at all is one, too: then what names the
// things that were expected, and example is one of them.
func EachLine(name, what, example string, r io.Reader, read func(place string, line []byte) error) error {
	var problems []string
	b, found := bufio.NewReaderSize(r, 1<<16), false
	for number := 1; ; number++ {
		line, err := b.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			found = true
			place := fmt.Sprintf("%s:%d", name, number)
			if bad := read(place, line); bad != nil {
				problems = append(problems, place+": "+bad.Error())
			}
		}
		if err != nil {
			break
		}
	}
	if !found {
		problems = append(problems, fmt.Sprintf("%s: no %s in it; expected lines such as %s", name, what, example))
	}
	if problems != nil {
		return &InputError{name, problems}
	}
	return nil
}
