package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file of the model with its sha256 in hexadecimal.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Files hashes the files that decide what the model samples: configuration, manifest, tokenizer, generation settings,
// ONNX file and its external data; in the order of their names.
func (m *Model) Files() ([]File, error) {
	names := []string{configFileName, tokenizerFileName, m.ONNXName}
	for _, name := range []string{manifestFileName, generationFileName} {
		if b, err := m.folder.optional(name); err != nil {
			return nil, err
		} else if b != nil {
			names = append(names, name)
		}
	}
	for _, location := range m.Graph.External() {
		names = append(names, path.Join(path.Dir(m.ONNXName), location))
	}
	if m.Manifest.Schedule.Kind == perToken {
		names = append(names, parametersFileName) // the exponents
	}
	slices.Sort(names)
	names = slices.Compact(names) // exponents may stand in a file of external data
	files := make([]File, len(names))
	for i, name := range names {
		f, err := m.hash(name)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		files[i] = f
	}
	return files, nil
}

// hash reads one file. What the names of the ONNX file's external data may be was checked when the model was opened.
func (m *Model) hash(name string) (File, error) {
	open := func() (io.ReadCloser, error) { return m.folder.Open(name) }
	if m.Dir != "" {
		open = func() (io.ReadCloser, error) { return os.Open(filepath.Join(m.Dir, name)) }
	}
	r, err := open()
	if err != nil {
		return File{}, err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	return File{name, n, hex.EncodeToString(h.Sum(nil))}, err
}

// Digest identifies the model: the sha256 of the lines "SHA256  NAME" of its [Model.Files], which sha256sum prints. It
// reads every byte of the model.
func (m *Model) Digest() (string, error) {
	files, err := m.Files()
	if err != nil {
		return "", err
	}
	return DigestOf(files), nil
}

// DigestOf is [Model.Digest] of files that were hashed already.
func DigestOf(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s  %s\n", f.SHA256, f.Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Verify compares files with the digests of mdm.json. It returns the names that were checked; the error lists every file
// that differs or is missing. A manifest without digests checks nothing.
func (m *Model) Verify() ([]string, error) {
	var problems []error
	names := slices.Sorted(maps.Keys(m.Manifest.Digests))
	for _, name := range names {
		if !filepath.IsLocal(name) {
			problems = append(problems, fmt.Errorf("%s: digests: %q is outside the model directory; remove it", m.folder.path(manifestFileName), name))
			continue
		}
		f, err := m.hash(name)
		if err != nil {
			problems = append(problems, fmt.Errorf("model %s: %w", m.Name, err))
		} else if want := strings.TrimPrefix(m.Manifest.Digests[name], "sha256:"); f.SHA256 != want {
			problems = append(problems, fmt.Errorf("%s: sha256 is %s, expected %s by mdm.json: the file was changed or damaged; copy the model again", m.folder.path(name), f.SHA256, want))
		}
	}
	return names, errors.Join(problems...)
}
