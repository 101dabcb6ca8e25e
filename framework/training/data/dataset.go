package data

import "fmt"

// Row is a row of token ids, in slices of the caller.
type Row struct {
	Tokens []int64 // [L], padded
	Length int     // real tokens, special ones included
	Fixed  []bool  // [L] positions that are given; padding is not. nil: not asked for
}

// Counts says what became of the records of a set.
type Counts struct {
	Tokens    int64     `json:"tokens"`          // real ones, special tokens included
	Skipped   int64     `json:"skipped"`         // bad lines left out
	Dropped   int64     `json:"dropped"`         // rows left out for their length
	Truncated int64     `json:"truncated"`       // rows cut
	Lines     []BadLine `json:"lines,omitempty"` // the first of Skipped
}

// Dataset is a set of rows with random access, in memory or mapped from shards. It does not change and may be used by
// several goroutines.
type Dataset struct {
	shape
	name     string
	per      int64    // records in every segment but the last
	segments [][]byte // of records
	first    int64    // record of the segments that this set begins with
	records  int64
	counts   Counts
	sources  []File
}

// Rows is the number of rows: padded ones, or windows of a packed stream side by side; the rest of the stream that does
// not fill a window is in none.
func (d *Dataset) Rows() int {
	if d.layout == Packed {
		return int(d.records / int64(d.length))
	}
	return int(d.records)
}

// Length is L, the number of positions of a row.
func (d *Dataset) Length() int { return d.length }

// Packed tells whether the rows are windows of one stream.
func (d *Dataset) Packed() bool { return d.layout == Packed }

// Windows is the number of places where a window of a packed stream may start, or 0 of padded rows.
func (d *Dataset) Windows() int64 {
	if d.layout == Packed {
		return d.records - int64(d.length) + 1
	}
	return 0
}

// Counts says what became of the records that were read. With data.valid_fraction, what was left out is counted with the
// training set.
func (d *Dataset) Counts() Counts { return d.counts }

// Sources lists the files that the rows come from.
func (d *Dataset) Sources() []File { return d.sources }

// Row reads row i, 0 <= i < Rows. It allocates nothing. The error is that of damaged shards.
func (d *Dataset) Row(i int, into *Row) error {
	if i < 0 || i >= d.Rows() {
		return fmt.Errorf("%s: row %d: expected 0 to %d", d.name, i, d.Rows()-1)
	}
	if d.layout == Packed {
		return d.Window(int64(i)*int64(d.length), into)
	}
	at, size := d.first+int64(i), d.bytes()
	segment := d.segments[at/d.per]
	if err := d.row(segment[at%d.per*size:][:size], into); err != nil {
		return fmt.Errorf("%s: row %d: %w", d.name, i, err)
	}
	return nil
}

// Window reads the tokens from a place of a packed stream on, 0 <= start < Windows. It allocates nothing.
func (d *Dataset) Window(start int64, into *Row) error {
	if start < 0 || start >= d.Windows() {
		return fmt.Errorf("%s: window at %d: expected a packed stream and 0 to %d", d.name, start, d.Windows()-1)
	}
	into.Length = d.length
	clear(into.Fixed)
	to := into.Tokens[:d.length]
	for at := d.first + start; len(to) > 0; {
		segment := d.segments[at/d.per][at%d.per*int64(d.width):]
		n := min(len(to), len(segment)/d.width)
		if err := d.ids(segment, to[:n]); err != nil {
			return fmt.Errorf("%s: window at %d: %w", d.name, start, err)
		}
		to, at = to[n:], at+int64(n)
	}
	return nil
}

// part is the records from lo up to hi of a packed stream.
func (d *Dataset) part(name string, lo, hi int64) *Dataset {
	p := *d
	p.name, p.first, p.records = name, d.first+lo, hi-lo
	p.counts.Tokens = p.records
	return &p
}

// enough refuses a set without a row.
func (d *Dataset) enough(name string) error {
	switch {
	case d.Rows() > 0:
		return nil
	case d.layout == Packed:
		return fmt.Errorf("data.%s: has %d tokens, expected at least data.length, %d; give more data or a smaller length", name, d.records, d.length)
	}
	return fmt.Errorf("data.%s: no row is left (%d bad lines and %d too long left out), expected at least one; give more data", name, d.counts.Skipped, d.counts.Dropped)
}
