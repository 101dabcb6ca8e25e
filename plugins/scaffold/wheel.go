package scaffold

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// wheel is a Python package of pure Python, in the format of the Python Packaging Authority (Binary distribution format 1.0).
type wheel struct {
	name     string   // of the distribution, such as mdmhost-plugin
	version  string   // such as 0.1.0
	summary  string   // one line
	python   string   // such as >=3.10
	requires []string // such as numpy>=1.26
	extras   []extra  // what asks for more
	license  []byte   // text of the licence, Apache-2.0
	source   fs.FS    // the packages, as they are imported
}

// extra is a name in brackets behind that of the distribution, and what it requires besides.
type extra struct{ name, requires string }

// file returns the wheel under the name that pip expects. The same package gives the same bytes.
func (w wheel) file() (file, error) {
	stem := strings.ReplaceAll(w.name, "-", "_") + "-" + w.version
	files, err := w.packages()
	if err != nil {
		return file{}, err
	}
	info := stem + ".dist-info/"
	files = append(files, file{info + "LICENSE", w.license}, file{info + "METADATA", w.metadata()},
		file{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: mdmhost\nRoot-Is-Purelib: true\nTag: py3-none-any\n")})
	files = append(files, record(info+"RECORD", files))
	content, err := zipped(files)
	return file{stem + "-py3-none-any.whl", content}, err
}

// packages are the files of the source, sorted; those that Python made itself are left out.
func (w wheel) packages() ([]file, error) {
	var files []file
	err := fs.WalkDir(w.source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path.Base(name) == "__pycache__" {
				return fs.SkipDir
			}
			return nil
		}
		content, err := fs.ReadFile(w.source, name)
		files = append(files, file{name, content})
		return err
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, err
}

// metadata are the core metadata, version 2.1.
func (w wheel) metadata() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nLicense: Apache-2.0\nRequires-Python: %s\n", w.name, w.version, w.summary, w.python)
	for _, r := range w.requires {
		fmt.Fprintf(&b, "Requires-Dist: %s\n", r)
	}
	for _, e := range w.extras {
		fmt.Fprintf(&b, "Provides-Extra: %[1]s\nRequires-Dist: %[2]s; extra == \"%[1]s\"\n", e.name, e.requires)
	}
	return b.Bytes()
}

// record lists the files with their digests and sizes, and itself without.
func record(name string, files []file) file {
	var b bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&b, "%s,,\n", name)
	return file{name, b.Bytes()}
}

// zipped packs files without compression, whose bytes would depend on the version of Go, at the earliest time that the format has.
func zipped(files []file) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
