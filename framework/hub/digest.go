package hub

import (
	"crypto/sha1" //nolint:gosec // git names blobs so
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"regexp"
)

// Digest is how a file's content is known: sha256 of files in large file storage, and the name of git's blob, "git-sha1", of all others.
type Digest struct{ Kind, Hex string }

var hexes = map[string]*regexp.Regexp{"sha256": regexp.MustCompile(`^[0-9a-f]{64}$`), "git-sha1": regexp.MustCompile(`^[0-9a-f]{40}$`)}

func (d Digest) valid() bool { return hexes[d.Kind] != nil && hexes[d.Kind].MatchString(d.Hex) }

// String is KIND:HEX.
func (d Digest) String() string { return d.Kind + ":" + d.Hex }

// MarshalJSON is the text of String.
func (d Digest) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// of is the digest of the same kind of a content of so many bytes.
func (d Digest) of(r io.Reader, size int64) (Digest, error) {
	var h hash.Hash
	switch d.Kind {
	case "sha256":
		h = sha256.New()
	default:
		h = sha1.New() //nolint:gosec // see above
		fmt.Fprintf(h, "blob %d\x00", size)
	}
	_, err := io.Copy(h, r)
	return Digest{d.Kind, hex.EncodeToString(h.Sum(nil))}, err
}
