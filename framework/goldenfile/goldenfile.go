// Package goldenfile reads golden files in tests: compressed JSON that a script wrote which stands beside them.
package goldenfile

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
)

// Read reads a file (*.json.gz) into a value, which must have a place for every field; the test fails where it cannot.
func Read(t testing.TB, path string, into any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
