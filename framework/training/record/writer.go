package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Writer appends to metrics.jsonl. It is used by one goroutine at a time.
type Writer struct {
	path string
	file file
	size int64
	step int64
}

// file is the part of a file that writing needs; tests put a failing one in its place.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// Open opens metrics.jsonl for a run that goes on from the checkpoint of a step, and cuts off the lines of later steps and
// a torn last one, so that the file becomes what an undisturbed run would have written, times aside. A run from the start
// passes -1. It returns the lines that stay. The caller holds the lock of the run directory.
//
// For the file to be complete, a run writes all lines of a step and calls [Writer.Sync] before it saves the checkpoint of
// that step.
func Open(path string, step int64) (*Writer, []Line, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	lines, size, err := scan(path, f, step)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	w := &Writer{path: path, file: f, size: size}
	if len(lines) > 0 {
		w.step = lines[len(lines)-1].Step
	}
	return w, lines, nil
}

// Write appends a line, whole or not at all. Steps never go back.
func (w *Writer) Write(l Line) error {
	text, err := l.encode()
	if err == nil && l.Step < w.step {
		err = fmt.Errorf("line of step %d after one of step %d, expected steps in order", l.Step, w.step)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	if n, err := w.file.Write(text); err != nil {
		if n > 0 {
			_ = w.file.Truncate(w.size) // when even this fails, readers skip the torn line
		}
		err = fmt.Errorf("%s: %w; the lines before it are kept", w.path, err)
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w: make room and run the same command again to go on", err)
		}
		return err
	}
	w.size += int64(len(text))
	w.step = l.Step
	return nil
}

// Sync brings what was written onto the disk.
func (w *Writer) Sync() error { return w.file.Sync() }

// Close ends the file.
func (w *Writer) Close() error { return errors.Join(w.file.Sync(), w.file.Close()) }
