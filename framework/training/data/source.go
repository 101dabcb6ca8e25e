package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// File is a source file as it was read.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the file as it lies on the disk
}

// Progress says how far reading has come. Bytes are those on the disk.
type Progress struct {
	Stage string // "vocabulary" or "rows"
	File  string
	Done  int64 // bytes of all files of the stage
	Total int64
}

// progressStep is how many bytes lie between two reports.
const progressStep = 256 << 10

// source reads a file's text, unpacked where it is gzip, without a byte order mark.
type source struct {
	name   string
	file   *os.File
	hash   hash.Hash
	bytes  int64
	report func(read int64) // bytes of this file, now and then and at the end
	raw    *bufio.Reader
	text   *bufio.Reader
	packed bool
}

// openSource opens a file. A file without any text is an error.
func openSource(name string, report func(read int64)) (*source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name an existing file", name, plain(err))
	}
	s := &source{name: name, file: f, hash: sha256.New(), report: report}
	if err := s.start(); err != nil {
		f.Close() //nolint:errcheck // only read
		return nil, err
	}
	return s, nil
}

func (s *source) start() error {
	s.raw = bufio.NewReaderSize(counted{s}, 64<<10)
	magic, err := s.raw.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", s.name, plain(err))
	}
	s.text = s.raw
	if s.packed = bytes.Equal(magic, []byte{0x1f, 0x8b}); s.packed {
		z, err := gzip.NewReader(s.raw)
		if err != nil {
			return s.explain(err)
		}
		s.text = bufio.NewReaderSize(z, 64<<10)
	} else if len(magic) > 0 && filepath.Ext(s.name) == ".gz" {
		return fmt.Errorf("%s: expected gzip as its name says, found something else; copy it again, or rename it", s.name)
	}
	start, err := s.text.Peek(3)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return s.explain(err)
	case len(start) == 0:
		return fmt.Errorf("%s: is empty; remove it from the list", s.name)
	case bytes.Equal(start, []byte("\ufeff")):
		_, _ = s.text.Discard(3)
	}
	return nil
}

// Read implements [io.Reader]. Its errors name the file, and none but the end of the text is an [io.EOF].
func (s *source) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	return n, err
}

func (s *source) explain(err error) error {
	switch {
	case s.packed && errors.Is(err, io.ErrUnexpectedEOF), s.packed && err == io.EOF:
		return &readError{fmt.Sprintf("%s: the gzip file ends too early, after %d bytes; copy it again", s.name, s.bytes)}
	case errors.Is(err, gzip.ErrHeader):
		return &readError{fmt.Sprintf("%s: something that is not gzip follows within the gzip file; copy it again", s.name)}
	case s.packed:
		return &readError{fmt.Sprintf("%s: the gzip file is damaged near byte %d: %v; copy it again", s.name, s.bytes, err)}
	}
	return fmt.Errorf("%s: %w", s.name, plain(err))
}

// readError is the error of a file that cannot be read to its end.
type readError struct{ text string }

func (e *readError) Error() string { return e.text }

// finish reads what is left, closes the file and says what was read.
func (s *source) finish() (File, error) {
	_, err := io.Copy(io.Discard, s.raw)
	s.report(s.bytes)
	return File{s.name, s.bytes, hex.EncodeToString(s.hash.Sum(nil))}, errors.Join(err, s.file.Close())
}

// counted is the file on the disk.
type counted struct{ s *source }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.s.file.Read(p)
	c.s.hash.Write(p[:n])
	before := c.s.bytes / progressStep
	if c.s.bytes += int64(n); c.s.bytes/progressStep != before {
		c.s.report(c.s.bytes)
	}
	return n, err
}
