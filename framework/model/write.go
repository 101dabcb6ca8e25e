package model

import (
	"fmt"
	"io/fs"
	"regexp"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// WriteDir is [WriteFiles] of contents that are in memory.
func WriteDir(dir string, contents map[string][]byte, opts ...Option) error {
	files := wholefile.Files{}
	for name, b := range contents {
		files[name] = wholefile.Bytes(b)
	}
	return WriteFiles(dir, files, opts...)
}

// WriteFiles writes a model directory from its files by path, whole or not at all: under another name beside dir, onto
// the disk, opened with opts as a test, then into place. A directory that is there already is exchanged for it, unless it holds
// files that the new one lacks: then nothing is changed.
func WriteFiles(dir string, files wholefile.Files, opts ...Option) error {
	err := wholefile.ReplaceDir(dir, files, func(written string) error {
		_, err := Open(written, opts...)
		return err
	})
	if err != nil {
		return fmt.Errorf("model %s: %w", dir, err)
	}
	return nil
}

// ReadFile reads another file of the model, such as model.safetensors. The error of one that is not there is fs.ErrNotExist.
func (m *Model) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("model %s: %q is no path below it", m.Name, name)
	}
	return fs.ReadFile(m.folder, name)
}

var notice = regexp.MustCompile("^(LICEN[CS]E|COPYING|NOTICE)")

// Notices are the names of the files in a model's folder that say whose it is and what may be done with it, which every copy must hold: those
// that begin with LICENSE, LICENCE, COPYING or NOTICE.
func Notices(dir fs.FS) (names []string, err error) {
	entries, err := fs.ReadDir(dir, ".")
	for _, e := range entries {
		if !e.IsDir() && notice.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Notices are the [Notices] of the model's folder.
func (m *Model) Notices() ([]string, error) { return Notices(m.folder) }
