package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Verification is how the files of a directory compare with the digests that were written with them. All lists are sorted.
type Verification struct {
	Checked  []string      `json:"checked"`  // files with a digest
	Changed  []ChangedFile `json:"changed"`  // of these
	Missing  []string      `json:"missing"`  // of these
	Unlisted []string      `json:"unlisted"` // files without a digest
}

// ChangedFile is a file with another content than was written.
type ChangedFile struct {
	Name   string `json:"name"`
	Found  string `json:"found"` // sha256 in hexadecimal, or what else it is
	Expect string `json:"expected"`
}

// Verify compares the files of a model, embedded or a directory, with the digests of its mdm.json. The model is not opened: a damaged one is
// what this is for. Without digests nothing is checked.
func Verify(ref string) (*Verification, error) {
	f, err := find(ref)
	if err != nil {
		return nil, err
	}
	text, err := f.optional(manifestFileName)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(f.path(manifestFileName), text)
	if err != nil {
		return nil, err
	}
	v, err := VerifyFiles(f.FS, m.Digests)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", f.name, err)
	}
	return v, nil
}

// VerifyFiles compares files with digests: sha256 in hexadecimal, with "sha256:" before it or not, by slash-separated path. A name that leads out of
// the directory is an error, and so is a file that cannot be read.
func VerifyFiles(dir fs.FS, digests map[string]string) (*Verification, error) {
	v := &Verification{Checked: []string{}, Changed: []ChangedFile{}, Missing: []string{}, Unlisted: []string{}}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		if !fs.ValidPath(name) || strings.Contains(name, `\`) {
			return nil, fmt.Errorf("digests: %q is outside the directory; remove it", name)
		}
		found, err := digestOf(dir, name)
		switch want := strings.TrimPrefix(digests[name], "sha256:"); {
		case errors.Is(err, fs.ErrNotExist):
			v.Missing = append(v.Missing, name)
			continue
		case err != nil:
			return nil, err
		case found != want:
			v.Changed = append(v.Changed, ChangedFile{name, found, want})
		}
		v.Checked = append(v.Checked, name)
	}
	err := fs.WalkDir(dir, ".", func(path string, e fs.DirEntry, err error) error {
		if _, listed := digests[path]; err == nil && !e.IsDir() && !listed {
			v.Unlisted = append(v.Unlisted, path)
		}
		return err
	})
	slices.Sort(v.Unlisted)
	return v, err
}

// digestOf hashes a file. What is no file, such as a pipe, is not read.
func digestOf(dir fs.FS, name string) (string, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "no regular file", nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
