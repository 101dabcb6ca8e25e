package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shared = "../../../../shared/data/"

// sharedText unpacks a file of the project's data.
func sharedText(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(shared + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// put writes a file into a new directory.
func put(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// spec is the defaults with changes.
func spec(change func(*Spec)) Spec {
	s := Defaults()
	s.Length = 8
	change(&s)
	return s
}

func open(t testing.TB, s Spec) *Data {
	t.Helper()
	d, err := Open(context.Background(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rowsOf reads every row as text, given positions in capitals of brackets: "[1]2[3]".
func rowsOf(t testing.TB, d *Dataset, v *Vocabulary) []string {
	t.Helper()
	var out []string
	r := Row{Tokens: make([]int64, d.Length()), Fixed: make([]bool, d.Length())}
	for i := range d.Rows() {
		if err := d.Row(i, &r); err != nil {
			t.Fatal(err)
		}
		var s strings.Builder
		for j, id := range r.Tokens {
			token := v.Token(int32(id))
			switch {
			case j >= r.Length && id == int64(v.Pad) && !r.Fixed[j]:
				token = "."
			case j >= r.Length:
				t.Fatalf("row %d: padding position %d has id %d, fixed %v", i, j, id, r.Fixed[j])
			case r.Fixed[j]:
				token = "<" + token + ">"
			}
			s.WriteString(token)
		}
		out = append(out, s.String())
	}
	return out
}

// decode turns ids of a row back into text.
func decode(v *Vocabulary, r Row) string {
	ids := make([]int32, r.Length)
	for i := range ids {
		ids[i] = int32(r.Tokens[i])
	}
	return v.Decode(ids, true)
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %v, want one that says %q", err, w)
		}
	}
}
