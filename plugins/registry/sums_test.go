package registry_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

func TestSumsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sums := registry.Sums(rapid.MapOfN(rapid.StringMatching(`[a-zA-Z0-9é *._-]{1,9}(/[a-z *]{1,9}){0,2}x`).Filter(fs.ValidPath), rapid.StringMatching(`[0-9a-f]{64}`), 1, 9).Draw(t, "sums"))
		got, err := registry.ParseSums("SHA256SUMS", sums.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sums, got); diff != "" || got.Digest() != sums.Digest() {
			t.Fatal(diff)
		}
	})
}

func TestParseSums(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	got, err := registry.ParseSums("SHA256SUMS", []byte(b+" *./bin/b\n\n"+a+"  a file\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(registry.Sums{"a file": a, "bin/b": b}, got); diff != "" {
		t.Error(diff)
	}
	if text := string(got.Bytes()); text != a+"  a file\n"+b+"  bin/b\n" {
		t.Errorf("written as %q", text)
	}
	for text, want := range map[string]string{
		"":                          "is empty",
		"abc  file\n":               "SHA256SUMS:1: expected a line of sha256sum",
		a + "\n":                    "SHA256SUMS:1: expected a line",
		strings.ToUpper(a) + "  f":  "SHA256SUMS:1: expected a line",
		a + "  x\n" + a + "  ../x":  `SHA256SUMS:2: "../x": expected the name`,
		a + "  /etc/passwd":         "expected the name of another file within the folder",
		a + "  SHA256SUMS":          "expected the name of another file within the folder",
		a + "  x\\y":                "expected the name of another file within the folder",
		a + "  x\n" + b + "  ./x\n": "SHA256SUMS:2: x stands there twice",
	} {
		if _, err := registry.ParseSums("SHA256SUMS", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: expected %q, found %v", text, want, err)
		}
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 64) + "  a file\n"))
	f.Add([]byte(strings.Repeat("0", 64) + " *./x/y\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sums, err := registry.ParseSums("SHA256SUMS", text)
		if err != nil {
			return
		}
		again, err := registry.ParseSums("SHA256SUMS", sums.Bytes())
		if err != nil || !cmp.Equal(sums, again) {
			t.Fatalf("read %v, written and read again %v, %v", sums, again, err)
		}
	})
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("version: 1\nplugins:\n  a:\n    version: 1.0.0\n    digest: sha256:" + strings.Repeat("a", 64) + "\n    source: ./a\n"))
	f.Add([]byte("version: 1\nplugins: {../x: {digest: b}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lock, err := registry.ParseLock("mdmhost.lock", text)
		if (lock == nil) == (err == nil) {
			t.Fatalf("lock %v, error %v", lock, err)
		}
		if err == nil && lock.Plugins == nil {
			t.Fatal("a lock that takes no pins")
		}
	})
}
