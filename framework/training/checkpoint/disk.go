package checkpoint

import (
	"errors"
	"io"
	"os"
)

// disk is the part of a file system that writing needs; tests put a failing one in its place.
type disk interface {
	Mkdir(path string) error
	Create(path string) (file, error)
	Rename(from, to string) error
	SyncDir(path string) error // makes what was created and renamed in it last
}

type file interface {
	io.WriteCloser
	Sync() error
}

type realDisk struct{}

func (realDisk) Mkdir(path string) error          { return os.Mkdir(path, 0o755) }
func (realDisk) Create(path string) (file, error) { return os.Create(path) }
func (realDisk) Rename(from, to string) error     { return os.Rename(from, to) }

func (realDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
