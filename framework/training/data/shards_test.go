package data

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
)

// prepared is what is left to say of prepared data.
func prepared(dir string) Spec {
	s := Defaults()
	s.Prepared = dir
	return s
}

// samePrepared: shards of one record, of a few, and of all hold what memory holds.
func samePrepared(t *testing.T, s Spec, want *Data) {
	t.Helper()
	for _, size := range []int64{1, 20, 0} {
		d, err := Prepare(context.Background(), s, filepath.Join(t.TempDir(), "made", "shards"), Options{ShardBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Verify(context.Background()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(rowsOf(t, want.Train, want.Vocabulary), rowsOf(t, d.Train, d.Vocabulary)); diff != "" {
			t.Errorf("shards of %d bytes (-memory +mapped)\n%s", size, diff)
		}
		if (want.Valid == nil) != (d.Valid == nil) || want.Valid != nil && !cmp.Equal(rowsOf(t, want.Valid, want.Vocabulary), rowsOf(t, d.Valid, d.Vocabulary)) {
			t.Errorf("shards of %d bytes: the validation sets differ", size)
		}
		if diff := cmp.Diff(want.Notes(), d.Notes(), cmp.Transformer("names", func(s string) string { return s[strings.Index(s, ": "):] })); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]any{want.Train.Counts(), want.Train.Sources()}, []any{d.Train.Counts(), d.Train.Sources()}); diff != "" {
			t.Error(diff)
		}
		if !bytes.Equal(d.Vocabulary.JSON, want.Vocabulary.JSON) {
			t.Error("the tokenizers differ")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPrepareRealData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "moses")
	s := spec(func(s *Spec) {
		s.Train, s.Valid = []string{shared + "mol/moses_valid.csv.gz"}, []string{shared + "mol/moses_test_scaffolds.csv.gz"}
		s.Column, s.Tokenizer, s.Layout, s.Length, s.EOS = "SMILES", SMILES, Padded, 60, true
	})
	d, err := Prepare(context.Background(), s, dir, Options{ShardBytes: 300_000})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 2+10 { // 10,000 rows of 132 bytes, five shards a set
		t.Errorf("%q", names)
	}
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	want := open(t, s)
	if !cmp.Equal(rowsOf(t, want.Valid, want.Vocabulary), rowsOf(t, d.Valid, d.Vocabulary)) {
		t.Error("the shards differ from the memory")
	}
	_, err = Prepare(context.Background(), s, dir, Options{})
	wantError(t, err, dir+": exists; remove it")
}

// TestStreamCutAnew: the length of a packed stream is the run's choice, that of padded rows was made when they were prepared.
func TestStreamCutAnew(t *testing.T) {
	base, dir := spec(func(s *Spec) { s.Train, s.Length = []string{put(t, "a.txt", "abcdefghij")}, 4 }), filepath.Join(t.TempDir(), "d")
	if _, err := Prepare(context.Background(), base, dir, Options{ShardBytes: 6}); err != nil {
		t.Fatal(err)
	}
	s := prepared(dir)
	s.Length = 5
	d := open(t, s)
	if diff := cmp.Diff([]string{"abcde", "fghij"}, rowsOf(t, d.Train, d.Vocabulary)); diff != "" {
		t.Error(diff)
	}
	s.Length = 11
	_, err := Open(context.Background(), s, Options{})
	wantError(t, err, "data.train: has 10 tokens, expected at least data.length, 11")

	dir = filepath.Join(t.TempDir(), "d")
	base = spec(func(s *Spec) {
		s.Train, s.Column, s.Layout = []string{put(t, "a.csv", "x\nabc\n")}, "x", Padded
	})
	if _, err := Prepare(context.Background(), base, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	s = prepared(dir)
	s.Length = 5
	_, err = Open(context.Background(), s, Options{})
	wantError(t, err, "data.length: is 5, but the rows in "+dir+" were prepared with 8")
}

// TestPreparedSettings: what was given when rows were prepared may be given again, and nothing else may; it comes back either way.
func TestPreparedSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	base := spec(func(s *Spec) {
		s.Train, s.ValidFraction = []string{put(t, "a.csv", "x,p\nabc,a..\nde,.e\nf,.\n")}, 0.5
		s.Column, s.FixedColumn, s.Blank, s.Layout, s.TooLong, s.EOS = "x", "p", ".", Padded, Drop, true
	})
	made, err := Prepare(context.Background(), base, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := base
	again.Prepared, again.Format = dir, CSV
	t.Chdir(filepath.Dir(base.Train[0]))
	again.Train = []string{"a.csv"}
	for _, s := range []Spec{prepared(dir), again} {
		d := open(t, s)
		want := again.absolute()
		want.Valid = []string{}
		if diff := cmp.Diff([]any{want, rowsOf(t, made.Train, made.Vocabulary)}, []any{d.Spec, rowsOf(t, d.Train, d.Vocabulary)}); diff != "" {
			t.Errorf("(-prepared +opened)\n%s", diff)
		}
	}
	again.Train, again.Column, again.FixedColumn, again.Layout, again.Tokenizer, again.EOS, again.TooLong = []string{"b.csv"}, "y", "", Packed, SMILES, false, Error
	_, err = Open(context.Background(), again, Options{Given: func(key string) bool { return key != "data.too_long" }})
	wantError(t, err, "data: 6 problems", `data.column: is "y", but the rows in `+dir+` were prepared with "x"; leave it out, or prepare the data again`,
		`data.fixed_column: is "", but`, `data.layout: is "packed", but`, `were prepared with "padded"`, `data.tokenizer: is "smiles", but`, "data.eos: is false, but",
		`b.csv"], but`)
	_, err = Open(context.Background(), again, Options{}) // defaults do not count
	wantError(t, err, "data: 3 problems")
}

// TestDamagedShards: every damage is told, and what was prepared is never changed.
func TestDamagedShards(t *testing.T) {
	dir := t.TempDir()
	base := spec(func(s *Spec) {
		s.Train, s.Column, s.Layout = []string{put(t, "a.csv", "x\nabc\nde\nf\n")}, "x", Padded
	})
	path := func(name string) string { return filepath.Join(dir, name) }
	replace := func(name, old, new string) func(*testing.T) {
		return func(t *testing.T) {
			b, err := os.ReadFile(path(name))
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatal(err, string(b))
			}
			if err := os.WriteFile(path(name), bytes.Replace(b, []byte(old), []byte(new), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, err := Open(context.Background(), spec(func(s *Spec) { s.Train = []string{put(t, "a.txt", "zzzzzzzz")} }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		damage func(*testing.T)
		says   []string
		model  []byte
	}{
		"cut": {func(t *testing.T) {
			if err := os.Truncate(path("train-00000.bin"), 30); err != nil {
				t.Fatal(err)
			}
		}, []string{"train-00000.bin: has 30 bytes, expected 40: it is damaged"}, nil},
		"missing": {func(t *testing.T) {
			if err := os.Remove(path("train-00001.bin")); err != nil {
				t.Fatal(err)
			}
		}, []string{"train-00001.bin: no such file", "copy the directory again"}, nil},
		"tokenizer":         {replace("tokenizer.json", `"a": 0`, `"q": 0`), []string{"tokenizer.json has sha256", "was prepared with"}, nil},
		"model's tokenizer": {func(*testing.T) {}, []string{"the model's has " + other.Vocabulary.Digest(), "prepare the data with the model's"}, other.Vocabulary.JSON},
		"version":           {replace("index.json", `"mdmhost_data": 2`, `"mdmhost_data": 1`), []string{"index.json: mdmhost_data: expected version 2", "found 1"}, nil},
		"not JSON":          {replace("index.json", `{`, `[`), []string{"index.json: ", "prepare the data again"}, nil},
		"dtype":             {replace("index.json", "uint16", "uint8"), []string{`dtype: expected uint16 or uint32, found "uint8"`}, nil},
		"records":           {replace("index.json", `"records": 3`, `"records": 4`), []string{"train: expected records within the 3 of the shards, found 4"}, nil},
		"negative":          {replace("index.json", `"first": 0`, `"first": -1`), []string{"train: expected records within"}, nil},
		"no rows":           {replace("index.json", `"records": 3`, `"records": 0`), []string{"no row is left"}, nil},
		"outside":           {replace("index.json", `"train-00000.bin"`, `"../x.bin"`), []string{`expected names of files in the directory, found "../x.bin"`}, nil},
		"length":            {replace("index.json", `"length": 8`, `"length": 9`), []string{"expected whole records of 22 bytes"}, nil},
		"pad":               {replace("index.json", `"pad": 6`, `"pad": 60`), []string{"pad: expected an id below 8, found 60"}, nil},
		"vocabulary":        {replace("index.json", `"vocabulary": 8`, `"vocabulary": 70000`), []string{"vocabulary: expected ids of uint16, found 70000"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir = filepath.Join(t.TempDir(), "d")
			if _, err := Prepare(context.Background(), base, dir, Options{ShardBytes: 40}); err != nil {
				t.Fatal(err)
			}
			c.damage(t)
			_, err := Open(context.Background(), prepared(dir), Options{Tokenizer: c.model})
			wantError(t, err, c.says...)
		})
	}
	t.Run("bytes", func(t *testing.T) {
		dir = filepath.Join(t.TempDir(), "d")
		if _, err := Prepare(context.Background(), base, dir, Options{ShardBytes: 40}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path("train-00000.bin"))
		if err != nil {
			t.Fatal(err)
		}
		b[4], b[20] = 200, 9 // an id, and the length of the second row
		if err := os.WriteFile(path("train-00000.bin"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		d := open(t, prepared(dir))
		r := Row{Tokens: make([]int64, 8)}
		wantError(t, d.Train.Row(0, &r), "row 0: has id 200, expected ids below 8: the data is damaged")
		wantError(t, d.Train.Row(1, &r), "row 1: has 9 tokens, expected at most 8")
		wantError(t, d.Verify(context.Background()), "train-00000.bin: sha256 is ", "it is damaged")
		_, err = (&Loader{Data: d.Train}).Fill(NewBatch(3, 8), 0)
		wantError(t, err, "the data is damaged")
	})
}

// faulty is a disk that is full after some operations.
type faulty struct {
	realDisk
	left *int
}

type faultyFile struct {
	file
	faulty
}

func (d faulty) fails() error {
	if *d.left--; *d.left < 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (d faulty) Create(path string) (file, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	f, err := d.realDisk.Create(path)
	return faultyFile{f, d}, err
}

func (d faulty) Rename(from, to string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.realDisk.Rename(from, to)
}

func (f faultyFile) Write(b []byte) (int, error) {
	if err := f.fails(); err != nil {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, err
	}
	return f.file.Write(b)
}

func (f faultyFile) Sync() error { return errors.Join(f.fails(), f.file.Sync()) }

// TestEveryOperationFindsTheDiskFull: whichever it is, nothing is left behind, and with room the same command succeeds.
func TestEveryOperationFindsTheDiskFull(t *testing.T) {
	s := spec(func(s *Spec) {
		s.Train, s.Column, s.Layout = []string{put(t, "a.csv", "x\nabc\nde\nf\n")}, "x", Padded
	})
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	for n := 0; ; n++ {
		left := n
		d, err := Prepare(context.Background(), s, dir, Options{ShardBytes: 40, disk: faulty{left: &left}})
		if err == nil {
			if n < 12 {
				t.Fatalf("only %d operations were tried", n)
			}
			if d.Train.Rows() != 3 {
				t.Errorf("%d rows", d.Train.Rows())
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), dir+": ") || !strings.HasSuffix(err.Error(), "make room and prepare again") {
			t.Fatalf("operation %d: %v", n, err)
		}
		if entries, _ := os.ReadDir(parent); len(entries) > 0 {
			t.Fatalf("operation %d left %v behind", n, entries)
		}
	}
}

// TestKilledPreparation: what a killed run left is no obstacle; another process that still writes is.
func TestKilledPreparation(t *testing.T) {
	s := spec(func(s *Spec) { s.Train = []string{put(t, "a.txt", "abcdefgh")} })
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.MkdirAll(dir+".part/rest", 0o755); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(dir + ".lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err := Prepare(context.Background(), s, dir, Options{})
	wantError(t, err, dir+": is being prepared by another process")
	if err := lock.Unlock(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	if _, err := Prepare(context.Background(), s, dir, Options{}); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// TestCancelledPreparation leaves nothing.
func TestCancelledPreparation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	parent := t.TempDir()
	_, err := Prepare(ctx, spec(func(s *Spec) { s.Train = []string{shared + "text/dickens_valid.txt.gz"} }), filepath.Join(parent, "d"),
		Options{Progress: func(p Progress) {
			if p.Stage == "rows" {
				cancel()
			}
		}})
	if entries, _ := os.ReadDir(parent); !errors.Is(err, context.Canceled) || len(entries) > 0 {
		t.Errorf("%v, left %v", err, entries)
	}
}
