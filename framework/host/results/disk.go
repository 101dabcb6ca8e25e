package results

import (
	"io"
	"os"
)

// disk is the part of a file system that answers need; tests put a failing one in its place.
type disk interface {
	OpenFile(name string, flag int, perm os.FileMode) (file, error)
}

type file interface {
	io.ReadWriteCloser
	Truncate(size int64) error
	Sync() error
}

type realDisk struct{}

func (realDisk) OpenFile(name string, flag int, perm os.FileMode) (file, error) {
	return os.OpenFile(name, flag, perm)
}

// log is a file that only grows by whole records: a record that fails half-way is cut off again.
type log struct {
	file
	size int64
}

func (l *log) Write(record []byte) (int, error) {
	n, err := l.file.Write(record)
	if err == nil {
		l.size += int64(n)
		return n, nil
	}
	if n > 0 {
		_ = l.Truncate(l.size) // when even this fails, readers skip the broken last record
	}
	return 0, err
}
