package model

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func TestVerifyFiles(t *testing.T) {
	dir := fstest.MapFS{"a": {Data: []byte("a")}, "b/c": {Data: []byte("other")}, "b/d": {Data: []byte("d")}, "new": {Data: []byte("n")}}
	got, err := VerifyFiles(dir, map[string]string{"a": "sha256:" + sum("a"), "b/c": sum("c"), "b/d": sum("d"), "gone": sum("g"), "b": sum("")})
	if err != nil {
		t.Fatal(err)
	}
	want := &Verification{Checked: []string{"a", "b", "b/c", "b/d"}, Missing: []string{"gone"}, Unlisted: []string{"new"},
		Changed: []ChangedFile{{"b", "no regular file", sum("")}, {"b/c", sum("other"), sum("c")}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"../a", "/a", "a/../../b", "", `..\a`} {
		if _, err := VerifyFiles(dir, map[string]string{name: sum("a")}); err == nil || !strings.Contains(err.Error(), "is outside the directory; remove it") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A pipe in the place of a file is told, not read.
func TestVerifyPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := VerifyFiles(os.DirFS(dir), map[string]string{"a": sum("a")})
	if err != nil || len(got.Changed) != 1 || got.Changed[0].Found != "no regular file" {
		t.Errorf("%+v %v", got, err)
	}
}

// Every embedded model is what it was written as.
func TestVerifyEmbedded(t *testing.T) {
	for _, name := range Embedded() {
		v, err := Verify(name)
		if err != nil || len(v.Changed)+len(v.Missing) > 0 || len(v.Checked)+len(v.Unlisted) < 3 {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
}
