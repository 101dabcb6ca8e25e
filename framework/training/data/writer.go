package data

import "io"

// segments takes records, some at a time.
type segments interface {
	next() error // the records that follow begin a new segment
	io.Writer    // whole records
}

// memory keeps segments in memory.
type memory struct{ all [][]byte }

// memorySegment bounds what a growing segment is copied.
const memorySegment = 1 << 20

func (m *memory) next() error {
	m.all = append(m.all, nil)
	return nil
}

func (m *memory) Write(b []byte) (int, error) {
	last := &m.all[len(m.all)-1]
	*last = append(*last, b...)
	return len(b), nil
}

// writer encodes rows into segments.
type writer struct {
	shape
	per     int64 // records a segment
	out     segments
	records int64
	counts  Counts
	buf     []byte
}

// newWriter starts segments of about size bytes.
func newWriter(s shape, size int64, out segments) *writer {
	return &writer{shape: s, per: max(1, size/s.bytes()), out: out}
}

// stream adds tokens to a packed stream.
func (w *writer) stream(ids []int32) error {
	w.counts.Tokens += int64(len(ids))
	for len(ids) > 0 {
		n := min(w.per-w.records%w.per, int64(len(ids)))
		if err := w.write(w.appendIDs(w.buf[:0], ids[:n]), n); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// add adds a padded row of at most L ids.
func (w *writer) add(ids []int32, fixed []bool) error {
	w.counts.Tokens += int64(len(ids))
	return w.write(w.appendRow(w.buf[:0], ids, fixed), 1)
}

func (w *writer) write(b []byte, records int64) error {
	w.buf = b
	if w.records%w.per == 0 {
		if err := w.out.next(); err != nil {
			return err
		}
	}
	w.records += records
	_, err := w.out.Write(b)
	return err
}
