package data

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// disk is the part of a file system that shards need; tests put a failing one in its place.
type disk interface {
	Create(path string) (file, error)
	Rename(from, to string) error
}

type file interface {
	io.WriteCloser
	Sync() error
}

type realDisk struct{}

func (realDisk) Create(path string) (file, error) { return os.Create(path) }

// Rename moves a directory into place and makes that last.
func (realDisk) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer parent.Close() //nolint:errcheck // only read
	return parent.Sync()
}

// shardFiles writes segments as files DIR/NAME-00000.bin and on.
type shardFiles struct {
	disk    disk
	dir     string
	name    string
	done    []shard
	current *shardFile // nil: none is open
}

type shardFile struct {
	file
	shard
	buffer *bufio.Writer
	hash   hash.Hash
}

func (s *shardFiles) next() error {
	if err := s.finish(); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%05d.bin", s.name, len(s.done))
	f, err := s.disk.Create(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	s.current = &shardFile{file: f, shard: shard{Name: name}, hash: sha256.New()}
	s.current.buffer = bufio.NewWriterSize(io.MultiWriter(f, s.current.hash), 256<<10)
	return nil
}

// Write implements [io.Writer].
func (s *shardFiles) Write(b []byte) (int, error) {
	s.current.Bytes += int64(len(b))
	return s.current.buffer.Write(b)
}

// finish makes the open shard last.
func (s *shardFiles) finish() error {
	c := s.current
	if c == nil {
		return nil
	}
	s.current = nil
	if err := c.end(); err != nil {
		return err
	}
	c.SHA256 = hex.EncodeToString(c.hash.Sum(nil))
	s.done = append(s.done, c.shard)
	return nil
}

func (c *shardFile) end() error {
	if err := c.buffer.Flush(); err != nil {
		c.Close() //nolint:errcheck // the write failed already
		return err
	}
	return lasting(c.file)
}

// abandon closes what is open.
func (s *shardFiles) abandon() {
	if s.current != nil {
		s.current.Close() //nolint:errcheck // the file is thrown away
	}
}

// lasting ends a file that was written.
func lasting(f file) error {
	if err := f.Sync(); err != nil {
		f.Close() //nolint:errcheck // the write failed already
		return err
	}
	return f.Close()
}

// writeFile writes a whole file.
func writeFile(d disk, path string, text []byte) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close() //nolint:errcheck // the write failed already
		return err
	}
	return lasting(f)
}
