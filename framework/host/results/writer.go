package results

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/shard"
)

// Writer puts answers into input order. It is used by one goroutine at a time.
type Writer struct {
	format Format
	rows   int64 // of the run
	shard  shard.Shard
	name   string
	out    io.Writer
	file   *answers // nil when out cannot be resumed

	next    int64          // index of the line that comes next
	parked  map[int64]line // lines that wait for the ones before them
	kept    map[int64]bool // rows whose answer is safe
	resumed int
	whole   bool       // the file had every answer before
	tall    [][2]int64 // of a shard's text: rows of more than one line, and how many
	err     error      // the first failed write; nothing is written after it
}

// line is a rendered row; finished lines are answers.
type line struct {
	text     []byte
	finished bool
}

// NewWriter returns a writer of a shard's rows to a stream, of a run that has so many; name stands in messages.
func NewWriter(out io.Writer, name string, format Format, rows int64, of shard.Shard) *Writer {
	return &Writer{format: format, rows: rows, shard: of, name: name, out: out, next: of.Index, parked: map[int64]line{}, kept: map[int64]bool{}}
}

// Kept tells whether a row was answered already, by the run that this one resumes or since.
func (w *Writer) Kept(index int64) bool { return w.whole || w.kept[index] }

// Resumed returns how many rows were found answered when the file was opened.
func (w *Writer) Resumed() int { return w.resumed }

// Put takes a row that ended. It is written once every row before it is.
func (w *Writer) Put(r Row) error {
	if w.err != nil {
		return w.err
	}
	if _, twice := w.parked[r.Index]; twice || r.Index < w.next || r.Index >= w.rows || !w.shard.Holds(r.Index) {
		return fmt.Errorf("%s: row %d: expected each of %d rows once", w.name, r.Index, w.count())
	}
	text, err := r.render(w.format)
	if err != nil {
		return err
	}
	if w.file != nil && r.finished() && (w.format == Text || r.Index != w.next) {
		if err := w.file.park(r); err != nil {
			return w.fail(err)
		}
		w.kept[r.Index] = true
	}
	w.parked[r.Index] = line{text, r.finished()}
	return w.flush()
}

// flush writes the parked lines that have nothing to wait for any more.
func (w *Writer) flush() error {
	for {
		l, ok := w.parked[w.next]
		if !ok {
			return nil
		}
		if len(l.text) > 0 {
			if _, err := w.out.Write(l.text); err != nil {
				return w.fail(err)
			}
		}
		if l.finished {
			w.kept[w.next] = true
		}
		w.measure(w.next, l.text)
		delete(w.parked, w.next)
		w.next += w.shard.Stride()
	}
}

// measure notes that a text takes several lines, for those who take the file apart again.
func (w *Writer) measure(index int64, text []byte) {
	if w.shard.Whole() || w.format != Text {
		return
	}
	if n := bytes.Count(text, []byte("\n")); n > 1 {
		w.tall = append(w.tall, [2]int64{index, int64(n)})
	}
}

// count is how many rows the writer takes.
func (w *Writer) count() int64 { return w.shard.Count(w.rows) }

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("%s: %w", w.name, err)
	if w.file != nil {
		w.err = fmt.Errorf("%w; %d of %d rows are kept: make room and run the same command again to go on", w.err, len(w.kept), w.count())
	}
	return w.err
}

// Close writes what still waits, in order, and ends a file of answers: complete ones lose their FILE.resume, others
// keep it. Beside a shard's stands FILE.shard then, for those who merge. It returns the first error of the writer's life.
func (w *Writer) Close() error {
	for _, i := range slices.Sorted(maps.Keys(w.parked)) {
		if _, waits := w.parked[i]; waits && w.err == nil {
			w.next = i
			_ = w.flush() // kept in w.err
		}
	}
	if w.file == nil {
		return w.err
	}
	complete := w.err == nil && int64(len(w.kept)) == w.count()
	if err := w.file.close(complete, w.tall); err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.name, err)
	}
	return w.err
}
