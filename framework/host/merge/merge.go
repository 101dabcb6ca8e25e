// Package merge puts the answers of a run's shards together into the file that one process would have written.
//
// Every file is held against what stands beside it (FILE.shard), and all of them against each other, before anything is written: the shards
// must be of one run, and all of it. What is wrong is told all at once, by rows. Answers are read as streams, so that memory does not grow
// with them.
package merge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Problems is everything that keeps files from being merged.
type Problems []string

// Error lists them, one a line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "merge: " + p[0]
	}
	return fmt.Sprintf("merge: %d problems\n  %s", len(p), strings.Join(p, "\n  "))
}

// Result says what was merged.
type Result struct {
	Rows, Shards int64
	Seed         uint64
}

// Files writes the rows of the parts into out, in order, whole or not at all. An error of what the parts hold is [Problems]; one of out,
// which exists and is not to be replaced, a [results.Refused]. Nothing was changed then.
func Files(out string, parts []string, overwrite bool) (Result, error) {
	if err := writable(out, parts, overwrite); err != nil {
		return Result{}, err
	}
	pieces, problems := check(parts)
	if len(problems) > 0 {
		return Result{}, problems
	}
	err := wholefile.Replace(out, func(w io.Writer) error { return zip(w, pieces) })
	if err != nil {
		return Result{}, err
	}
	first := pieces[0]
	return Result{first.Rows, first.Shard.Of, first.Seed}, wholefile.SyncDir(filepath.Dir(out))
}

// writable refuses to lose a file.
func writable(out string, parts []string, overwrite bool) error {
	info, err := os.Stat(out)
	if err != nil {
		if _, err := os.Stat(filepath.Dir(out)); err != nil {
			return &results.Refused{File: out, Reason: fmt.Sprintf("its directory %s does not exist; create it or name another file", filepath.Dir(out))}
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return &results.Refused{File: out, Reason: "is no regular file; name a file that the rows can be put into at once"}
	}
	for _, part := range parts {
		if other, err := os.Stat(part); err == nil && os.SameFile(info, other) {
			return &results.Refused{File: out, Reason: "is to be merged and to take what is merged; name another file for the whole"}
		}
	}
	if !overwrite {
		return &results.Refused{File: out, Reason: "exists; name another file, or add --overwrite to replace it"}
	}
	return nil
}

// stream is one part while it is read.
type stream struct {
	*bufio.Reader
	name  string
	lines func(row int64) (int64, error) // that a row takes; nil: one
}

// zip writes the rows, a row of each shard in turn.
func zip(w io.Writer, pieces []piece) error {
	streams := make([]stream, len(pieces))
	for i, p := range pieces { // by shard
		f, err := os.Open(p.name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		streams[i] = stream{Reader: bufio.NewReaderSize(f, 1<<15), name: p.name}
		if p.Format() == results.Text {
			beside, err := os.Open(results.PieceFile(p.name))
			if err != nil {
				return err
			}
			defer beside.Close() //nolint:errcheck // only read
			if _, streams[i].lines, err = results.ScanPiece(beside); err != nil {
				return fmt.Errorf("%s: %w", beside.Name(), err)
			}
		}
	}
	var begins []byte
	for row := range pieces[0].Rows {
		s := &streams[row%int64(len(streams))]
		if s.lines == nil {
			begins = append(strconv.AppendInt(append(begins[:0], `{"index":`...), row, 10), `,"seed":`...)
			begins = append(strconv.AppendUint(begins, pieces[0].Seed, 10), ',')
		}
		if err := s.copy(w, row, begins); err != nil {
			return err
		}
	}
	for i := range streams {
		if _, err := streams[i].Peek(1); err == nil {
			return fmt.Errorf("%s: has more lines than rows; sample its shard anew", streams[i].name)
		}
	}
	return nil
}

// copy writes one row, which begins so.
func (s *stream) copy(w io.Writer, row int64, begins []byte) error {
	lines := int64(1)
	if s.lines != nil {
		var err error
		if lines, err = s.lines(row); err != nil {
			return fmt.Errorf("%s: row %d: %w", results.PieceFile(s.name), row, err)
		}
	}
	for at := int64(0); at < lines; {
		text, err := s.ReadSlice('\n') // a piece of a line, where it is longer than the buffer
		if err != nil && err != bufio.ErrBufferFull {
			return fmt.Errorf("%s: row %d: expected %d lines: %w", s.name, row, lines, err)
		}
		if !bytes.HasPrefix(text, begins) {
			return fmt.Errorf("%s: expected row %d, found %.60q", s.name, row, text)
		}
		if begins = nil; err == nil {
			at++
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}
