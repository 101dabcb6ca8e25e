package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// maxRecord is how many bytes a quoted field may go on over further lines.
const maxRecord = 16 << 20

// records cuts a CSV file into records. One whose quotes are wrong costs its first line alone: the lines after it, which an
// open quote seems to swallow, are read again.
type records struct {
	from  *bufio.Reader
	ahead []byte // whole lines that were read
	used  int    // bytes of ahead that are done with
	line  int    // of the first byte of the rest
	text  bytes.Reader
	csv   *csv.Reader // of text, which holds one record at a time
}

// quoting is the error of a record that does not follow RFC 4180.
type quoting struct{ text string }

func (q *quoting) Error() string { return q.text }

func newRecords(r io.Reader) *records {
	c := &records{from: bufio.NewReaderSize(r, 64<<10), line: 1}
	c.renew()
	return c
}

// renew makes the parser forget a record that failed.
func (c *records) renew() {
	c.csv = csv.NewReader(&c.text)
	c.csv.ReuseRecord, c.csv.FieldsPerRecord = true, -1
}

// next returns the next record, which stays valid until the call after it, and the number of its first line. The error is a
// [quoting], [io.EOF], or that of reading.
func (c *records) next() (fields []string, line int, err error) {
	for {
		first, all, err := c.record()
		if err != nil {
			return nil, 0, err
		}
		record := c.ahead[c.used:all]
		c.text.Reset(record)
		line = c.line
		fields, err = c.csv.Read()
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
			c.renew()
			c.used, c.line = first, line+1
			where := ""
			if further := wrong.Line - wrong.StartLine; further > 0 {
				where = fmt.Sprintf(" of line %d", line+further)
			}
			return nil, line, &quoting{fmt.Sprintf("expected RFC 4180: %v, at column %d%s", wrong.Err, wrong.Column, where)}
		}
		c.used, c.line = all, line+bytes.Count(record, []byte("\n"))
		if err != io.EOF { // an empty line
			return fields, line, err
		}
	}
}

// record finds the end of the record that comes next, and of its first line: a line ends it unless a quote is open, which
// is so after an odd number of them.
func (c *records) record() (first, all int, err error) {
	if c.used == len(c.ahead) {
		c.ahead, c.used = c.ahead[:0], 0
	}
	open := false
	for all = c.used; first == 0 || open && all-c.used < maxRecord; {
		end, err := c.lineFrom(all)
		if err == io.EOF && first > 0 {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		open = open != (bytes.Count(c.ahead[all:end], []byte(`"`))%2 == 1)
		if all = end; first == 0 {
			first = end
		}
	}
	return first, all, nil
}

// lineFrom finds the end of the line that begins at a byte of ahead, reading it where that is the end.
func (c *records) lineFrom(start int) (end int, err error) {
	if i := bytes.IndexByte(c.ahead[start:], '\n'); i >= 0 {
		return start + i + 1, nil
	}
	for start == len(c.ahead) || c.ahead[len(c.ahead)-1] != '\n' {
		part, err := c.from.ReadSlice('\n')
		c.ahead = append(c.ahead, part...)
		if err == io.EOF && len(c.ahead) > start {
			break
		}
		if err != nil && err != bufio.ErrBufferFull {
			return 0, err
		}
	}
	return len(c.ahead), nil
}
