package registry

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// SumsFile is the name of the file of hashes in a plugin's folder, in the format of sha256sum.
const SumsFile = "SHA256SUMS"

// Sums are the SHA-256 of a plugin's files in lower-case hexadecimals, by their slash-separated names.
type Sums map[string]string

var hexSum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseSums reads a SHA256SUMS; file is its name in messages.
func ParseSums(file string, text []byte) (Sums, error) {
	out := Sums{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" {
			continue
		}
		sum, name, ok := strings.Cut(lines.Text(), " ")
		if ok && name != "" && (name[0] == ' ' || name[0] == '*') { // text or binary, which are the same
			name = name[1:]
		}
		switch name = strings.TrimPrefix(name, "./"); {
		case !ok || !hexSum.MatchString(sum):
			return nil, fmt.Errorf("%s:%d: expected a line of sha256sum: 64 digits 0-9a-f, two blanks and a name; write the file anew with `sha256sum`", file, n)
		case !fs.ValidPath(name) || !writable(name) || name != path.Clean(name) || name == "." || name == SumsFile:
			return nil, fmt.Errorf("%s:%d: %q: expected the name of another file within the folder", file, n, name)
		case out[name] != "":
			return nil, fmt.Errorf("%s:%d: %s stands there twice; keep one", file, n, name)
		}
		out[name] = sum
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: is empty; write it anew with `sha256sum`", file)
	}
	return out, nil
}

// Bytes is the file as it is written: sorted by name, so that the same files make the same bytes.
func (s Sums) Bytes() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s  %s\n", s[name], name)
	}
	return b.Bytes()
}

// Digest stands for the whole plugin: "sha256:" and the SHA-256 of [Sums.Bytes].
func (s Sums) Digest() string {
	sum := sha256.Sum256(s.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}
