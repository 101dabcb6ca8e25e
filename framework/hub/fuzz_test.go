package hub

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func init() { firstWait = 4 * time.Millisecond }

// What a listing names stays below the directory that it is for, and has a digest to be held against.
func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"id":"a/b","sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":"config.json","size":2,"blobId":"0123456789abcdef0123456789abcdef01234567"}]}`))
	f.Add([]byte(`{"sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":"../x","size":2,"lfs":{"sha256":"","size":-1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseListing(data)
		if err != nil {
			return
		}
		for _, file := range l.Files {
			if !filepath.IsLocal(file.Path) || !fs.ValidPath(file.part()) || file.Size < 0 || len(file.Digest.Hex) < 40 || strings.HasPrefix(file.Path, partsDir) && file.Path[len(partsDir):len(partsDir)+1] == "/" {
				t.Errorf("%+v", file)
			}
		}
	})
}

// A pattern is one of the three signs or itself, whatever else stands in it.
func FuzzPattern(f *testing.F) {
	f.Add("*.onnx", "a/b.onnx")
	f.Add("[!a]?", "bc")
	f.Add("a.b+(", "a.b+(")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		match, err := compile([]string{pattern})
		if err != nil {
			return
		}
		if !strings.ContainsAny(pattern, "*?[]") && match(name) != (pattern == name) {
			t.Errorf("%q against %q: %v", pattern, name, match(name))
		}
		if all, err := compile([]string{"*" + strings.Trim(pattern, "*?[]!^") + "*"}); err == nil && !strings.ContainsAny(pattern, "*?[]!^") && all(name) != strings.Contains(name, pattern) {
			t.Errorf("*%s* against %q: %v", pattern, name, all(name))
		}
	})
}

func TestOnce(t *testing.T) {
	a, b := Digest{"sha256", "a"}, Digest{"sha256", "b"}
	got := once([]File{{"1", 1, b}, {"2", 1, a}, {"3", 1, b}})
	if !slices.Equal(got, []File{{"2", 1, a}, {"1", 1, b}}) {
		t.Errorf("%v", got)
	}
}
