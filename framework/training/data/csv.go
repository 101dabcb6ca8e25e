package data

import (
	"encoding/csv"
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
	c := csv.NewReader(r)
	c.ReuseRecord = true
	header, err := c.Read()
	if err != nil {
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) || err == io.EOF {
			return fmt.Errorf("%s:1: expected a header with the names of the columns: %w", name, err)
		}
		return err
	}
	header = slices.Clone(header)
	at := make([]int, len(columns))
	for i, column := range columns {
		if at[i] = slices.Index(header, column); at[i] < 0 {
			return fmt.Errorf("%s:1: has no column %q, there are %s; name one of these", name, column, clip(strings.Join(header, ", ")))
		}
		if slices.Contains(header[at[i]+1:], column) {
			return fmt.Errorf("%s:1: has the column %q twice; rename one", name, column)
		}
	}
	values := make([]string, len(columns))
	for {
		record, err := c.Read()
		var parse *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := c.FieldPos(0)
			to.bad(line, fmt.Sprintf("expected %d fields as in the header, found %d", len(header), len(record)))
			continue
		case errors.As(err, &parse):
			to.bad(parse.StartLine, fmt.Sprintf("expected RFC 4180: %v, at column %d", parse.Err, parse.Column))
			continue
		case err != nil:
			return err
		}
		line, _ := c.FieldPos(0)
		if !slices.ContainsFunc(at, func(i int) bool { return !utf8.ValidString(record[i]) }) {
			for i, field := range at {
				values[i] = record[field]
			}
			if err := to.good(line, values); err != nil {
				return err
			}
			continue
		}
		to.bad(line, errNotUTF8.Error())
	}
}
