package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readRecords lists the records with their lines; a wrong one is "!".
func readRecords(t *rapid.T, text string) (out []string) {
	for c := newRecords(strings.NewReader(text)); ; {
		fields, line, err := c.next()
		switch err.(type) {
		case nil:
			out = append(out, fmt.Sprintf("%d %q", line, fields))
		case *quoting:
			out = append(out, fmt.Sprintf("%d !", line))
		default:
			if err != io.EOF {
				t.Fatal(err)
			}
			return out
		}
	}
}

// TestRecords: files that encoding/csv reads are read the same, and a line with a stray quote in one costs that line alone.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`([a-c]{0,3}|"([a-c,\n]|""|\r\n){0,4}")(,([a-c]{1,2}|"x\ny")){0,2}(\r?\n)`)).Draw(t, "lines")
		text := strings.Join(lines, "")
		c := csv.NewReader(strings.NewReader(text))
		c.FieldsPerRecord = -1
		var want []string
		for {
			fields, err := c.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			line, _ := c.FieldPos(0)
			want = append(want, fmt.Sprintf("%d %q", line, fields))
		}
		if diff := cmp.Diff(want, readRecords(t, text)); diff != "" {
			t.Fatal(diff)
		}
		n := strings.Count(text, "\n")
		plain := rapid.IntRange(0, 3).Draw(t, "plain")
		stray := rapid.SampledFrom([]string{`"a,b`, `a"b,c`, `"a"b,c`, `a,"b`}).Draw(t, "stray")
		text += stray + "\n" + strings.Repeat("p,q\n", plain)
		want = append(want, fmt.Sprintf("%d !", n+1))
		for i := range plain {
			want = append(want, fmt.Sprintf(`%d ["p" "q"]`, n+2+i))
		}
		if diff := cmp.Diff(want, readRecords(t, text)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestOpenQuote: the search for the end of a quote is bounded.
func TestOpenQuote(t *testing.T) {
	r := &endless{}
	c := newRecords(r)
	if _, line, err := c.next(); err == nil || line != 1 {
		t.Errorf("line %d: %v", line, err)
	}
	if fields, line, err := c.next(); err != nil || line != 2 || len(fields) != 2 {
		t.Errorf("line %d: %q, %v", line, fields, err)
	}
	if r.read > maxRecord+1<<20 {
		t.Errorf("%d bytes were read", r.read)
	}
}

// endless is a file that begins with an open quote.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, "\"a,b\n")
	if e.read > 0 {
		n = copy(p, "a,b\n")
	}
	e.read += n
	return n, nil
}
