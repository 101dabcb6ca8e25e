package results

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"

	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// PieceFile is the name of what stands beside the finished answers of a shard, FILE.shard. Its first line is a [Piece]; each further line,
// of text answers, is [row, lines] of a row whose text takes more lines than one, in the order of the rows.
func PieceFile(path string) string { return path + ".shard" }

// Piece says which rows of which run a file of answers holds.
type Piece struct {
	Shard    shard.Shard       `json:"shard"`
	Rows     int64             `json:"rows"` // of the whole run
	Seed     uint64            `json:"seed"`
	Settings map[string]string `json:"settings"` // everything else that the answers depend on, digests of model and input included
	Bytes    int64             `json:"bytes"`    // of the answers
	SHA256   string            `json:"sha256"`   // of them, in hexadecimals
}

// Format is the form of the answers.
func (p Piece) Format() Format { return Format(p.Settings["format"]) }

// Differences says in which settings another piece departs from this one, or "".
func (p Piece) Differences(other Piece) string { return p.header().differences(other.header()) }

// header is the run without its shards.
func (p Piece) header() header {
	settings := maps.Clone(p.Settings)
	delete(settings, "shard")
	return header{Seed: p.Seed, Rows: p.Rows, Settings: settings}
}

// ReadPiece reads what stands beside path.
func ReadPiece(path string) (Piece, error) {
	f, err := os.Open(PieceFile(path))
	if err != nil {
		return Piece{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	p, _, err := ScanPiece(f)
	if err != nil {
		return Piece{}, &Refused{PieceFile(path), err.Error() + ": this is not what `mdmhost sample --shard` wrote, so sample the shard anew, with --overwrite"}
	}
	return p, nil
}

// ScanPiece reads the first line of a FILE.shard, and returns what yields the lines of every following row: it is called once for each row
// of the shard, in their order, and keeps one line of the file at a time.
func ScanPiece(r io.Reader) (Piece, func(row int64) (lines int64, err error), error) {
	b := bufio.NewReader(r)
	text, err := b.ReadBytes('\n')
	p := Piece{}
	if err != nil {
		return p, nil, errors.New("expected a line of JSON, found the end of the file")
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, nil, fmt.Errorf("expected a line of JSON: %w", err)
	}
	if p.Shard.Whole() || p.Rows < 0 || p.Bytes < 0 || len(p.SHA256) != hex.EncodedLen(sha256.Size) {
		return p, nil, errors.New("expected shard, rows, bytes and sha256")
	}
	next, read := [2]int64{-1, 0}, false
	return p, func(row int64) (int64, error) {
		if !read || next[0] >= 0 && next[0] < row {
			read, next = true, [2]int64{-1, 0}
			text, err := b.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return 1, nil
			}
			if err != nil || json.Unmarshal(text, &next) != nil || next[0] < row || next[1] < 2 {
				return 0, errors.New("expected [row, lines] in the order of the rows")
			}
		}
		if next[0] == row {
			return next[1], nil
		}
		return 1, nil
	}, nil
}

// certify writes FILE.shard once the answers are on the disk.
func (a *answers) certify(p Piece, tall [][2]int64) (err error) {
	if p.Bytes, p.SHA256, err = Sum(a.path); err != nil {
		return err
	}
	return wholefile.Replace(PieceFile(a.path), func(w io.Writer) error {
		e := json.NewEncoder(w)
		err := e.Encode(p)
		for _, t := range tall {
			err = errors.Join(err, e.Encode(t))
		}
		return err
	})
}

// Sum returns the size and the SHA-256 of a file, in hexadecimals.
func Sum(path string) (size int64, digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close() //nolint:errcheck // only read
	hash := sha256.New()
	if size, err = io.Copy(hash, f); err != nil {
		return 0, "", fmt.Errorf("%s: %w", path, err)
	}
	return size, hex.EncodeToString(hash.Sum(nil)), nil
}

// whole tells whether path holds the finished answers of the shard that o describes, so that there is nothing to do: engines start the task
// of a shard again when they did not learn of its end. The error is a [Refused] where it holds others.
func whole(path string, o Options) (bool, error) {
	if _, err := os.Stat(Journal(path)); err == nil {
		return false, nil // unfinished
	}
	p, err := ReadPiece(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if different := (header{p.Seed, p.Rows, p.Settings}).differences(header{o.Seed, o.Rows, o.Settings}); different != "" {
		return false, &Refused{path, "holds the shard of another run: " + different + "; name another file, or add --overwrite"}
	}
	size, digest, err := Sum(path)
	if err != nil {
		return false, err
	}
	if size != p.Bytes || digest != p.SHA256 {
		return false, &Refused{path, fmt.Sprintf("was changed since the shard was finished (%d bytes, expected %d); add --overwrite to sample it anew", size, p.Bytes)}
	}
	return true, nil
}
