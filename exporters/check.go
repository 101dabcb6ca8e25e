package exporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model"
)

// maxRecord bounds export.json.
const maxRecord = 1 << 24

// ReadRecord reads DIR/export.json. The error of a directory without one is fs.ErrNotExist.
func ReadRecord(dir string) (*Record, error) {
	path := filepath.Join(dir, RecordName)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxRecord {
		return nil, fmt.Errorf("%s: has more than %d bytes, expected the record of an export; export the model again", path, maxRecord)
	}
	return ParseRecord(path, text)
}

// ParseRecord reads the text of an export.json; name is what errors call it.
func ParseRecord(name string, text []byte) (*Record, error) {
	r := &Record{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w, expected the record of an export; export the model again", name, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("%s: its format is %d, expected %d; use the program that wrote it, or export the model again", name, r.Format, recordFormat)
	}
	return r, nil
}

// VerifyDir compares the files of an export with the digests of its export.json. Files that it does not list are additional.
func VerifyDir(dir string) (*Record, *model.Verification, error) {
	r, err := ReadRecord(dir)
	if err != nil {
		return nil, nil, err
	}
	digests := map[string]string{}
	for _, f := range r.Files {
		digests[f.Name] = f.SHA256
	}
	v, err := model.VerifyFiles(os.DirFS(dir), digests)
	if err != nil {
		return nil, nil, fmt.Errorf("export %s: %w", dir, err)
	}
	v.Unlisted = slices.DeleteFunc(v.Unlisted, func(name string) bool { return name == RecordName })
	return r, v, nil
}
