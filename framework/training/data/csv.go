package data

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// lines is what becomes of the lines of a file with records.
type lines struct {
	good func(line int, values []string) error // the values of the columns asked for; they stay valid
	bad  func(line int, text string)
}

// readCSV reads RFC 4180 with a header. A header without a column that is asked for is an error; lines that do not fit the
// header or the quoting are bad ones.
func readCSV(name string, r io.Reader, columns []string, to lines) error {
	c := newRecords(r)
	header, line, err := c.next()
	if wrong := (*quoting)(nil); errors.As(err, &wrong) || err == io.EOF {
		return fmt.Errorf("%s:%d: expected a header with the names of the columns: %w", name, max(line, 1), err)
	}
	if err != nil {
		return err
	}
	header = slices.Clone(header)
	at := make([]int, len(columns))
	for i, column := range columns {
		if at[i] = slices.Index(header, column); at[i] < 0 {
			return fmt.Errorf("%s:%d: has no column %q, there are %s; name one of these", name, line, column, clip(strings.Join(header, ", ")))
		}
		if slices.Contains(header[at[i]+1:], column) {
			return fmt.Errorf("%s:%d: has the column %q twice; rename one", name, line, column)
		}
	}
	values := make([]string, len(columns))
	for {
		record, line, err := c.next()
		wrong := (*quoting)(nil)
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &wrong):
			to.bad(line, err.Error())
		case err != nil:
			return err
		case len(record) != len(header):
			to.bad(line, fmt.Sprintf("expected %d fields as in the header, found %d", len(header), len(record)))
		case slices.ContainsFunc(at, func(i int) bool { return !utf8.ValidString(record[i]) }):
			to.bad(line, errNotUTF8.Error())
		default:
			for i, field := range at {
				values[i] = record[field]
			}
			if err := to.good(line, values); err != nil {
				return err
			}
		}
	}
}
