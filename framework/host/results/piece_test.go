package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host/shard"
)

// A shard that is finished is left alone by the same command, and replaced by no other; a change of it is noticed.
func TestFinishedShard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o := options(Text)
	o.Shard = shard.Shard{Index: 1, Of: 5}
	o.Settings["shard"] = o.Shard.String()
	sample := func() error {
		w, err := Create(path, o)
		if err != nil {
			return err
		}
		for i := int64(1); i < rows; i += 5 {
			if r := row(i); !w.Kept(i) {
				r.Text = strings.Repeat("x\n", int(i))
				err = errors.Join(err, w.Put(r))
			}
		}
		return errors.Join(err, w.Close())
	}
	if err := sample(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(PieceFile(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, lines, err := ScanPiece(f)
	for _, want := range [][2]int64{{1, 2}, {6, 7}, {11, 12}} {
		if n, bad := lines(want[0]); errors.Join(err, bad) != nil || n != want[1] {
			t.Errorf("row %d has %d lines, %v", want[0], n, errors.Join(err, bad))
		}
	}
	before, _ := os.Stat(path)
	if w, err := Create(path, o); err != nil || w.Resumed() != 3 || !w.Kept(6) || w.Close() != nil {
		t.Errorf("finished: %v", err)
	}
	if after, _ := os.Stat(path); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a finished shard was written again")
	}
	refused := func(want string) {
		t.Helper()
		var refused *Refused
		if err := sample(); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q, found %v", want, err)
		}
	}
	o.Seed = 8
	refused("holds the shard of another run: seed was 7, is 8; name another file, or add --overwrite")
	o.Seed = 7
	if err := os.Truncate(path, 5); err != nil {
		t.Fatal(err)
	}
	refused("was changed since the shard was finished (5 bytes, expected 39); add --overwrite to sample it anew")
	o.Overwrite = true
	if err := sample(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(PieceFile(path), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Overwrite = false
	refused("this is not what `mdmhost sample --shard` wrote")
}

// What is read of a FILE.shard never fails otherwise than by an error, and every row has a line at least.
func FuzzScanPiece(f *testing.F) {
	head := `{"shard":"1/4","rows":10,"seed":5,"settings":{"format":"text"},"bytes":3,"sha256":"a82448046ae6a4a97ec544ef2c3b99c7ef54e2823c97f066c02db0b5b8235387"}` + "\n"
	for _, seed := range []string{head, head + "[1,2]\n[9,3]\n", head + "[1,1]\n", head + "[5,2]\n[1,2]\n", head + "[1,2", "{}\n", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, lines, err := ScanPiece(bytes.NewReader(text))
		if err != nil {
			return
		}
		for row := p.Shard.Index; row < min(p.Rows, 100); row += p.Shard.Of {
			n, err := lines(row)
			if err != nil {
				return
			}
			if n < 1 {
				t.Fatalf("row %d has %d lines", row, n)
			}
		}
	})
}
