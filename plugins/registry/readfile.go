package registry

import (
	"fmt"
	"io"
	"io/fs"
)

// Bounds of the files that are read whole, in bytes.
const (
	maxYAML = 1 << 20  // plugin.yaml, mdmhost.lock
	maxSums = 16 << 20 // SHA256SUMS
)

// readFile reads a file of at most most bytes. What is no file, such as a pipe, which might never answer, is not opened.
func readFile(from fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(from, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a file, found a folder or a device; put the file in its place", name)
	}
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: expected at most %d MiB; take out what does not belong there", name, most>>20)
	}
	return text, err
}
