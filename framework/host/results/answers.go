package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/mdmhost/mdmhost/framework/host/shard"
)

// Options describe the run whose answers a file takes.
type Options struct {
	Format    Format
	Rows      int64 // of the whole run
	Shard     shard.Shard
	Seed      uint64
	Settings  map[string]string // everything else that the answers depend on
	Overwrite bool              // begin anew whatever the file holds

	disk disk
}

// Refused is the error of a file that must not be written as asked; nothing was changed.
type Refused struct{ File, Reason string }

// Error reads "FILE: reason".
func (r *Refused) Error() string { return r.File + ": " + r.Reason }

// Peek looks, before anything heavy starts, whether path can take answers. seed is that of the unfinished run in it, or
// nil; or that of the shard that it holds. The error is a [Refused] where any other complete file, a directory or a missing directory stands in the way.
func Peek(path string, overwrite bool) (seed *uint64, err error) {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return nil, &Refused{path, fmt.Sprintf("its directory %s does not exist; create it or name another file", filepath.Dir(path))}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a journal alone means that the user removed the file
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &Refused{path, "is a directory; name a file"}
	case !info.Mode().IsRegular() || overwrite:
		return nil, nil
	}
	head, _, err := readJournal(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && info.Size() > 0:
		if p, err := ReadPiece(path); !errors.Is(err, fs.ErrNotExist) {
			return &p.Seed, err
		}
		return nil, &Refused{path, fmt.Sprintf("exists and has no journal (%s), so there is nothing to go on with; name another file, or add --overwrite to replace it", Journal(path))}
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &head.Seed, nil
}

// answers is a file that can be resumed, with its journal.
type answers struct {
	path    string
	lock    *flock.Flock
	out     *log
	journal *log
	piece   Piece // of a shard
}

// Create opens path for the answers of a run, or goes on with them where an earlier run of the same settings stopped:
// rows that have their answer are kept, cancelled and failed ones are to be done again. All rows of a shard that is finished are kept. What is no regular file (a
// pipe, /dev/null) is written as a stream. Nobody else may write the file until Close.
func Create(path string, o Options) (*Writer, error) {
	if o.disk == nil {
		o.disk = realDisk{}
	}
	info, err := os.Stat(path)
	o.Overwrite = o.Overwrite || errors.Is(err, fs.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		out, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return NewWriter(out, path, o.Format, o.Rows, o.Shard), nil
	}
	if _, err := Peek(path, o.Overwrite); err != nil {
		return nil, err
	}
	a := &answers{path: path, lock: flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))}
	if locked, err := a.lock.TryLock(); err != nil {
		return nil, err
	} else if !locked {
		return nil, &Refused{path, "another process is writing it; wait for that, or name another file"}
	}
	w := NewWriter(nil, path, o.Format, o.Rows, o.Shard)
	if !o.Overwrite {
		if w.whole, err = whole(path, o); err != nil || w.whole {
			w.resumed = int(w.count())
			return w, errors.Join(err, a.close(false, nil))
		}
	}
	w.file = a
	if err := a.open(w, o); err != nil {
		_ = a.close(false, nil)
		return nil, err
	}
	return w, nil
}

// open brings file and journal into step: the file holds the longest run of answers from the first on, the journal
// all others. The journal is replaced before the file is cut, so that a crash between the two loses nothing.
func (a *answers) open(w *Writer, o Options) error {
	rows := map[int64]Row{}
	if !o.Overwrite {
		var err error
		if rows, err = a.earlier(o); err != nil {
			return err
		}
	}
	out, err := o.disk.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	a.out = &log{file: out}
	if a.out.size, err = w.prefix(out, rows); err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	for i, r := range rows {
		w.kept[i] = true
		if i >= w.next {
			text, err := r.render(o.Format)
			if err != nil {
				return err
			}
			w.parked[i] = line{text, true}
		}
	}
	w.out, w.resumed = a.out, len(rows)
	a.piece = Piece{Shard: o.Shard, Rows: o.Rows, Seed: o.Seed, Settings: o.Settings}
	keep := rows
	if o.Format == JSONL {
		keep = map[int64]Row{}
		for i := range w.parked {
			keep[i] = rows[i]
		}
	}
	if a.journal, err = startJournal(o.disk, a.path, header{Seed: o.Seed, Rows: o.Rows, Settings: o.Settings}, keep); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", a.path, err)
	}
	if err := os.Remove(PieceFile(a.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it would speak of answers that are not there any more
	}
	if err := out.Truncate(a.out.size); err != nil {
		return err
	}
	return w.flush()
}

// earlier returns the answers that an interrupted run left.
func (a *answers) earlier(o Options) (map[int64]Row, error) {
	head, rows, err := readJournal(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	if different := head.differences(header{Seed: o.Seed, Rows: o.Rows, Settings: o.Settings}); different != "" {
		return nil, &Refused{a.path, "was begun with other settings: " + different + "; run with those, name another file, or add --overwrite"}
	}
	if o.Format == JSONL {
		f, err := os.Open(a.path)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		err = eachLine(f, func(text []byte) {
			var r Row
			if json.Unmarshal(text, &r) == nil && r.finished() && r.Seed == o.Seed && r.Index >= 0 && r.Index < o.Rows {
				rows[r.Index] = r
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.path, err)
		}
	}
	return rows, nil
}

// prefix goes past the rows that stand in f, from the first on, as they would be written, and returns the bytes that they take.
func (w *Writer) prefix(f io.Reader, rows map[int64]Row) (size int64, err error) {
	for {
		r, ok := rows[w.next]
		if !ok {
			return size, nil
		}
		text, err := r.render(w.format)
		if err != nil {
			return 0, err
		}
		found := make([]byte, len(text))
		if _, err := io.ReadFull(f, found); err != nil || string(found) != string(text) {
			return size, nil
		}
		w.measure(w.next, text)
		w.next, size = w.next+w.shard.Stride(), size+int64(len(text))
	}
}

// park makes a row safe that cannot stand in the file yet.
func (a *answers) park(r Row) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = a.journal.Write(append(text, '\n'))
	return err
}

// close ends both files; tall are the rows of a shard's text with more than one line.
func (a *answers) close(complete bool, tall [][2]int64) error {
	var errs []error
	if a.out != nil {
		errs = append(errs, a.out.Sync(), a.out.Close())
	}
	if a.journal != nil {
		errs = append(errs, a.journal.Close())
		if complete && errors.Join(errs...) == nil && !a.piece.Shard.Whole() {
			errs = append(errs, a.certify(a.piece, tall))
		}
		if complete && errors.Join(errs...) == nil {
			errs = append(errs, os.Remove(Journal(a.path)))
		}
	}
	return errors.Join(append(errs, a.lock.Unlock())...)
}
