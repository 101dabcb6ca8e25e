package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadLines: each is told with file, line and what was seen; skipped, the others make the rows.
func TestBadLines(t *testing.T) {
	jsonl := func(s *Spec) { s.Column, s.Layout, s.Length = "t", Padded, 4 }
	csv := func(s *Spec) { s.Column, s.Layout, s.Length = "t", Padded, 4 }
	for name, c := range map[string]struct {
		file, text string
		change     func(*Spec)
		says       []string
		count      int64
		rows       []string
	}{
		"JSON": {"a.jsonl", "{\"t\": \"ab\"}\n{\"t\": \"a\n[\"b\"]\nnull\n{\"t\": \"b\"} x\n{\"t\": \"c\"}", jsonl,
			[]string{"a.jsonl:2: expected a JSON object: ", "a.jsonl:3: expected a JSON object, found [\"b\"]", "a.jsonl:4: expected a JSON object, found null",
				"a.jsonl:5: expected a JSON object: invalid character 'x' after top-level value at character 12"}, 4, []string{"ab..", "c..."}},
		"JSON keys": {"a.jsonl", "{\"t\": \"ab\"}\n{\"x\": \"a\", \"b\": 1}\n{\"t\": 12}\n{\"t\": null}\n{\"t\": \"\"}\n", jsonl,
			[]string{`a.jsonl:2: expected the key "t", found b, x`, "a.jsonl:3: t: expected a text, found 12", "a.jsonl:4: t: expected a text, found null",
				"a.jsonl:5: t: expected text, found nothing; data.empty=keep takes rows without any"}, 4, []string{"ab.."}},
		"JSON UTF-8": {"a.jsonl", "{\"t\": \"ab\"}\n{\"t\": \"\xff\"}\n", jsonl, []string{"a.jsonl:2: expected UTF-8, found other bytes"}, 1, []string{"ab.."}},
		"CSV fields": {"a.csv", "t,u\nab,c\nab\nd,e,f\n\"a\nb\",\ng,h", csv,
			[]string{"a.csv:3: expected 2 fields as in the header, found 1", "a.csv:4: expected 2 fields as in the header, found 3"}, 2, []string{"ab..", "a\nb.", "g..."}},
		"CSV quotes": {"a.csv", "t,u\na\"b,c\nab,d\n\"x\"y,\n\"z", csv,
			[]string{`a.csv:2: expected RFC 4180: bare " in non-quoted-field, at column 2`, "a.csv:4: expected RFC 4180: extraneous or missing", "a.csv:5: expected RFC 4180"}, 3, []string{"ab.."}},
		"CSV open quote": {"a.csv", "t,u\n\"ab,c\n\nab,d\n\"e\nf\",g\n" + strings.Repeat("x,y\n", 3) + "\"z\"\"z,\nq,\"r\"\n\"s,t\r\nu,v", csv,
			[]string{`a.csv:2: expected RFC 4180: extraneous or missing " in quoted-field, at column 1 of line 5`, "a.csv:10: expected RFC 4180", "a.csv:12: expected RFC 4180"}, 3,
			[]string{"ab..", "e\nf.", "x...", "x...", "x...", "q...", "u..."}},
		"CSV UTF-8":  {"a.csv", "t,u\nab,c\na\xff,c\n", csv, []string{"a.csv:3: expected UTF-8"}, 1, []string{"ab.."}},
		"text UTF-8": {"a.txt", "abcd\nx\xffx\nef", func(s *Spec) { s.Length = 7 }, []string{"a.txt:2: expected UTF-8, found other bytes"}, 1, []string{"abcd\nef"}},
		"mask": {"a.csv", "t\nab\na[MASK]\n[PAD]b\n", csv,
			[]string{"a.csv:3: has the mask [MASK], which data must not have; take it out", "a.csv:4: has the padding [PAD]"}, 2, []string{"ab.."}},
		"SMILES": {"a.csv", "t\nCBr\nCQ\n", func(s *Spec) { csv(s); s.Tokenizer = SMILES }, []string{`a.csv:3: "Q" at character 2 is no symbol of SMILES`}, 1, []string{"CBr.."}},
		"givens": {"a.csv", "t,p\nab,.b\nab,...\nab,ab\n", func(s *Spec) { csv(s); s.FixedColumn, s.Blank = "p", "." },
			[]string{"a.csv:3: p: expected 2 characters, one for each token of t, found 3", "a.csv:4: every position is fixed"}, 2, []string{"a<b>.."}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(func(s *Spec) {
				c.change(s)
				s.Train = []string{put(t, c.file, c.text)}
			})
			_, err := Open(context.Background(), s, Options{})
			wantError(t, err, append(c.says, "leave bad lines out with data.bad_lines: skip")...)
			var lines *BadLinesError
			if !errors.As(err, &lines) || lines.Count != c.count {
				t.Fatalf("error %#v, want %d bad lines", err, c.count)
			}
			s.BadLines = Skip
			d := open(t, s)
			if diff := cmp.Diff(c.rows, rowsOf(t, d.Train, d.Vocabulary)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			counts := d.Train.Counts()
			if counts.Skipped != c.count || int64(len(counts.Lines)) != c.count || !strings.Contains(err.Error(), fmt.Sprintf("%s:%d: ", counts.Lines[0].File, counts.Lines[0].Line)) {
				t.Errorf("counted %+v", counts)
			}
			samePrepared(t, s, d)
		})
	}
}

// TestManyBadLines: five are shown, all are counted.
func TestManyBadLines(t *testing.T) {
	s := spec(func(s *Spec) {
		s.Train, s.Column, s.Layout = []string{put(t, "a.jsonl", "{\"t\": \"ab\"}\n"+strings.Repeat("{}\n", 12))}, "t", Padded
	})
	_, err := Open(context.Background(), s, Options{})
	wantError(t, err, "data: 12 bad lines; correct what is listed", "a.jsonl:2: ", "a.jsonl:6: ", "\n  and 7 more")
	if strings.Contains(err.Error(), "a.jsonl:7") {
		t.Errorf("more than five are shown: %v", err)
	}
	s = spec(func(s *Spec) {
		s.Train, s.Column, s.Layout, s.Length = []string{put(t, "a.csv", "t\nabc\nab\nabcd\n")}, "t", Padded, 2
		s.BadLines = Skip // says nothing about rows that are too long
	})
	_, err = Open(context.Background(), s, Options{})
	wantError(t, err, "data: 2 bad lines; raise data.length, or set data.too_long to drop or truncate", "a.csv:2: has 3 tokens with special ones, expected at most 2")
}

// TestUnknownSymbols of the validation text are found in their lines.
func TestUnknownSymbols(t *testing.T) {
	s := spec(func(s *Spec) {
		s.Train, s.Valid, s.Length = []string{put(t, "a.txt", "abcdefgh\n")}, []string{put(t, "b.txt", "abc\nxé\nhgf")}, 3
	})
	_, err := Open(context.Background(), s, Options{})
	wantError(t, err, `b.txt:2: "x" is not in the vocabulary`)
	s.BadLines = Skip
	d := open(t, s)
	if diff := cmp.Diff([]string{"abc", "\nhg"}, rowsOf(t, d.Valid, d.Vocabulary)); diff != "" || d.Valid.Counts().Skipped != 1 || d.Train.Counts().Skipped != 0 {
		t.Error(diff, d.Valid.Counts())
	}
}

// TestLongText: blocks fit together, whatever they are cut at, and lines are counted through them.
func TestLongText(t *testing.T) {
	for name, text := range map[string]string{
		"lines": strings.Repeat("one two\n", 30_000), "words": strings.Repeat("word ", 30_000), "letters": strings.Repeat("ab", 100_000),
		"characters": "x" + strings.Repeat("日本語", 30_000), "emoji": "xy" + strings.Repeat("😀", 40_000),
	} {
		n := len([]rune(text))
		d := open(t, spec(func(s *Spec) { s.Train, s.Length = []string{put(t, "a.txt", text)}, n }))
		r := Row{Tokens: make([]int64, n)}
		if err := d.Train.Row(0, &r); err != nil || decode(d.Vocabulary, r) != text {
			t.Errorf("%s: the text did not come back: %v", name, err)
		}
	}
	_, err := Open(context.Background(), spec(func(s *Spec) {
		s.Train = []string{put(t, "a.txt", strings.Repeat("one two\n", 30_000)+"\xff\n")}
	}), Options{})
	wantError(t, err, "a.txt:30001: expected UTF-8")
}

func TestFiles(t *testing.T) {
	whole := zipped(t, strings.Repeat("abcdefgh", 5000))
	damaged := []byte(whole)
	damaged[len(damaged)/2] ^= 0xff
	dir := t.TempDir()
	for name, c := range map[string]struct {
		path string
		says []string
	}{
		"missing":   {filepath.Join(dir, "a.txt"), []string{"data.train: " + dir + "/a.txt: no such file"}},
		"directory": {dir + "/", []string{"data.train: " + dir + "/: expected a file, found a directory"}},
		"stdin":     {"-", []string{"data.train: standard input (-) cannot be taken"}},
		"empty":     {put(t, "a.txt", ""), []string{"a.txt: is empty"}},
		"empty gz":  {put(t, "a.txt", zipped(t, "")), []string{"a.txt: is empty"}},
		"only a mark": {put(t, "a.txt", "\ufeff"),
			[]string{"data.train: tokenizer: no symbol was seen"}},
		"cut gzip":     {put(t, "a.txt", whole[:len(whole)-10]), []string{"a.txt: the gzip file ends too early, after ", "copy it again"}},
		"only magic":   {put(t, "a.txt", whole[:2]), []string{"a.txt: the gzip file ends too early, after 2 bytes"}},
		"damaged gzip": {put(t, "a.txt", string(damaged)), []string{"a.txt: the gzip file is damaged near byte "}},
		"gzip and more": {put(t, "a.txt", whole+"more and more and more"),
			[]string{"a.txt: something that is not gzip follows"}},
		"no gzip":    {put(t, "a.txt.gz", "abcdefgh"), []string{"a.txt.gz: expected gzip as its name says, found something else"}},
		"too short":  {put(t, "a.txt", "abcdefg"), []string{"data.train: has 7 tokens, expected at least data.length, 8; give more data or a smaller length"}},
		"header":     {put(t, "a.csv", "\"t\na\n"), []string{"a.csv:1: expected a header", "RFC 4180"}},
		"no header":  {put(t, "a.csv", "\n"), []string{"a.csv:1: expected a header with the names of the columns"}},
		"no column":  {put(t, "a.csv", "a,b\nx,y\n"), []string{`a.csv:1: has no column "t", there are a, b; name one of these`}},
		"two of one": {put(t, "a.csv", "a,t,t\nx,y,z\n"), []string{`a.csv:1: has the column "t" twice`}},
		"no records": {put(t, "a.csv", "t\n"), []string{"data.train: "}},
		"no lines":   {put(t, "a.jsonl", "\n\n"), []string{"data.train: "}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(func(s *Spec) { s.Train = []string{c.path} })
			if strings.HasSuffix(c.path, ".csv") || strings.HasSuffix(c.path, ".jsonl") {
				s.Column, s.Layout = "t", Padded
			}
			if strings.HasSuffix(c.path, "/") {
				s.Format = Text
			}
			_, err := Open(context.Background(), s, Options{})
			wantError(t, err, c.says...)
		})
	}
	_, err := Open(context.Background(), spec(func(s *Spec) {
		s.Train, s.Valid, s.Column, s.Layout = []string{put(t, "a.csv", "t\nab\n")}, []string{put(t, "b.csv", "t\n")}, "t", Padded
	}), Options{})
	wantError(t, err, "data.valid: no row is left (0 bad lines and 0 too long left out)")
}

// TestUnreadable: a file that cannot be opened is named.
func TestUnreadable(t *testing.T) {
	path := put(t, "a.txt", "abcdefgh")
	s := spec(func(s *Spec) { s.Train = []string{path} })
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // after the check
		t.Fatal(err)
	}
	_, err := newReading(context.Background(), &s, "rows", s.Train, nil)
	wantError(t, err, path+": no such file or directory; name an existing file")
}

// TestValidate: all problems are listed at once, each with its key.
func TestValidate(t *testing.T) {
	text, csv := put(t, "a.txt", "abc"), put(t, "a.csv", "t\nab\n")
	for name, c := range map[string]struct {
		change func(*Spec)
		want   []string
	}{
		"nothing": {func(s *Spec) { s.Length = 0 }, []string{"data.train: expected at least one file", "data.length: expected positions a row"}},
		"words": {func(s *Spec) {
			s.Train, s.Format, s.Normalize, s.Layout, s.TooLong, s.Unknown, s.BadLines, s.Tokenizer = []string{text}, "xml", "nfc", "rows", "cut", "maybe", "drop", ""
		}, []string{`data.format: expected text or jsonl or csv, found "xml"`, `data.normalize: expected none or text27, found "nfc"`, `data.layout: expected packed or padded`,
			"data.too_long: expected error or drop or truncate", "data.unknown: expected error or keep", "data.bad_lines: expected error or skip", "data.tokenizer: expected characters, smiles"}},
		"numbers": {func(s *Spec) { s.Train, s.Length, s.ValidFraction = []string{text}, -1, 0.9 }, []string{"data.length: expected positions a row, 1 to 16777216, found -1", "data.valid_fraction: expected a number from 0 to 0.5, found 0.9"}},
		"text": {func(s *Spec) {
			s.Train, s.Column, s.FixedColumn, s.Layout, s.BOS = []string{text}, "t", "p", Padded, true
		}, []string{"data.column: has no meaning in the format text", "data.fixed_column: has no meaning", "data.layout: padded needs records", "data.bos: has no meaning in the format text", "data.blank: expected together with data.fixed_column"}},
		"columns": {func(s *Spec) {
			s.Train, s.FixedColumn, s.Blank, s.PromptColumn = []string{csv}, "p", "0", "q"
		}, []string{"data.column: expected the CSV column of the text", "data.prompt_column: cannot be given with data.fixed_column", "data.layout: packed rows have no fixed positions"}},
		"mixed":    {func(s *Spec) { s.Train, s.Valid = []string{text}, []string{csv} }, []string{"data.format: " + csv + " is not text like the files before it; name the format"}},
		"endings":  {func(s *Spec) { s.Train = []string{put(t, "a.parquet", "x")} }, []string{"a.parquet is not .txt, .jsonl or .csv; name the format"}},
		"existing": {func(s *Spec) { s.Train, s.Column, s.Tokenizer, s.EOS = []string{csv}, "t", "x.json", true }, []string{"data.eos: has no meaning for an existing tokenizer"}},
		"both":     {func(s *Spec) { s.Train, s.Valid, s.ValidFraction = []string{text}, []string{text}, .1 }, []string{"data.valid_fraction: cannot be given with data.valid"}},
		"packed":   {func(s *Spec) { s.Train, s.TooLong = []string{text}, Drop }, []string{"data.too_long: has no meaning for packed rows"}},
		"prepared": {func(s *Spec) { s.Prepared, s.Train, s.Column = t.TempDir(), []string{text}, "t" }, []string{"data.prepared: expected a directory that `mdmhost data prepare` wrote: no such file"}},
		"all gone": {func(s *Spec) { s.Train = []string{"no.txt", "-", "none.txt"} }, []string{"data.train: no.txt: no such file", "data.train: standard input", "data.train: none.txt: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(c.change)
			err := s.Validate()
			wantError(t, err, c.want...)
			var problems Problems
			if !errors.As(err, &problems) || len(problems) != len(c.want) {
				t.Errorf("%d problems, want %d: %v", len(problems), len(c.want), err)
			}
		})
	}
	_, err := Prepare(context.Background(), Spec{Prepared: "x"}, "y", Options{})
	wantError(t, err, "data.prepared: cannot be given when data is prepared")
}
