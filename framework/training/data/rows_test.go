package data

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDickens: a real text in 27 symbols is a stream of windows; what they hold is the text. It must not need more memory
// than a few times the text.
func TestDickens(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var peak uint64
	var last Progress
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	start := m.HeapAlloc
	s := spec(func(s *Spec) {
		s.Train, s.Valid = []string{shared + "text/dickens_train.txt.gz"}, []string{shared + "text/dickens_valid.txt.gz"}
		s.Normalize, s.Length = Text27, 256
	})
	d, err := Open(context.Background(), s, Options{Progress: func(p Progress) {
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc-min(start, m.HeapAlloc))
		if p.Done > p.Total || p.Stage == last.Stage && p.File == last.File && p.Done < last.Done {
			t.Errorf("progress %+v after %+v", p, last)
		}
		last = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last.Stage != "rows" || last.Done != last.Total {
		t.Errorf("the last progress is %+v", last)
	}
	t.Logf("%.1f times the text in memory at most", float64(peak)/9197062)
	if limit := uint64(4 * 9197062); peak > limit {
		t.Errorf("%d bytes of memory, want at most %d", peak, limit)
	}
	if d.Train.Rows() != 8776719/256 || d.Valid.Rows() != 326162/256 || d.Train.Windows() != 8776719-255 {
		t.Errorf("%d and %d rows, %d windows", d.Train.Rows(), d.Valid.Rows(), d.Train.Windows())
	}
	if d.Vocabulary.Size() != 29 || d.Vocabulary.Token(0) != " " || d.Vocabulary.Token(26) != "z" {
		t.Errorf("%d tokens, the first %q", d.Vocabulary.Size(), d.Vocabulary.Token(0))
	}
	text := string(new(text27).append(nil, sharedText(t, "text/dickens_train.txt.gz")))
	r := Row{Tokens: make([]int64, 256), Fixed: make([]bool, 256)}
	for i := range d.Train.Rows() {
		if err := d.Train.Row(i, &r); err != nil || r.Length != 256 || decode(d.Vocabulary, r) != text[i*256:(i+1)*256] {
			t.Fatalf("row %d: %q, %v", i, decode(d.Vocabulary, r), err)
		}
	}
	for _, at := range []int64{0, 1, memorySegment/2 - 100, memorySegment/2 - 1, d.Train.Windows() - 1} {
		if err := d.Train.Window(at, &r); err != nil || decode(d.Vocabulary, r) != text[at:at+256] {
			t.Errorf("window at %d: %q, %v", at, decode(d.Vocabulary, r), err)
		}
	}
	wantError(t, d.Train.Window(d.Train.Windows(), &r), "expected a packed stream and 0 to 8776463")
	wantError(t, d.Train.Row(-1, &r), "train: row -1: expected 0 to")
}

// TestRawText: every character of the text is a token, line ends and control characters too.
func TestRawText(t *testing.T) {
	name := "text/dickens_train.txt.gz"
	d := open(t, spec(func(s *Spec) { s.Train, s.Length = []string{shared + name}, 9197054 }))
	r := Row{Tokens: make([]int64, 9197054)}
	if err := d.Train.Row(0, &r); err != nil || d.Vocabulary.Size() != 87+2 {
		t.Fatal(err, d.Vocabulary.Size())
	}
	if text := sharedText(t, name); decode(d.Vocabulary, r) != text {
		t.Error("the text did not come back")
	}
}

func TestMolecules(t *testing.T) {
	d := open(t, spec(func(s *Spec) {
		s.Train, s.Valid = []string{shared + "mol/moses_train.csv.gz"}, []string{shared + "mol/moses_test.csv.gz"}
		s.Column, s.Tokenizer, s.Layout, s.Length, s.BOS, s.EOS = "SMILES", SMILES, Padded, 60, true, true
	}))
	smiles := strings.Fields(sharedText(t, "mol/moses_test.csv.gz"))[1:]
	if d.Train.Rows() != 200000 || d.Valid.Rows() != len(smiles) {
		t.Fatalf("%d and %d rows", d.Train.Rows(), d.Valid.Rows())
	}
	if want := int64(354039 + 2*len(smiles)); d.Valid.Counts().Tokens != want { // atoms of the data's notes
		t.Errorf("%d tokens, want %d", d.Valid.Counts().Tokens, want)
	}
	r := Row{Tokens: make([]int64, 60), Fixed: make([]bool, 60)}
	for i, want := range smiles {
		if err := d.Valid.Row(i, &r); err != nil || decode(d.Vocabulary, r) != want {
			t.Fatalf("row %d: %q, %v, want %q", i, decode(d.Vocabulary, r), err, want)
		}
		if first, last := d.Vocabulary.Token(int32(r.Tokens[0])), d.Vocabulary.Token(int32(r.Tokens[r.Length-1])); first != "[BOS]" || last != "[EOS]" ||
			!r.Fixed[0] || !r.Fixed[r.Length-1] || slices.Contains(r.Fixed[1:r.Length-1], true) {
			t.Fatalf("row %d: from %s to %s, fixed %v", i, first, last, r.Fixed)
		}
	}
}

// TestPuzzles: positions are fixed where the puzzle shows them.
func TestPuzzles(t *testing.T) {
	for _, c := range []struct {
		file, column, blank string
		length, rows, v     int
	}{{"sudoku_valid", "puzzle", "0", 81, 2000, 9}, {"maze7_valid", "maze", "_", 225, 1000, 5}} {
		d := open(t, spec(func(s *Spec) {
			s.Train, s.Column, s.FixedColumn, s.Blank = []string{shared + "puzzle/" + c.file + ".csv.gz"}, "solution", c.column, c.blank
			s.Layout, s.Length = Padded, c.length
		}))
		if d.Train.Rows() != c.rows || d.Vocabulary.Size() != c.v+2 {
			t.Fatalf("%s: %d rows of %d tokens", c.file, d.Train.Rows(), d.Vocabulary.Size())
		}
		r := Row{Tokens: make([]int64, c.length), Fixed: make([]bool, c.length)}
		for i, line := range strings.Fields(sharedText(t, "puzzle/"+c.file+".csv.gz"))[1:] {
			fields := strings.Split(line, ",")
			if err := d.Train.Row(i, &r); err != nil || decode(d.Vocabulary, r) != fields[1] {
				t.Fatalf("%s: row %d: %v", c.file, i, err)
			}
			for j := range r.Fixed {
				if r.Fixed[j] != (fields[0][j] != c.blank[0]) || r.Fixed[j] && fields[0][j] != fields[1][j] {
					t.Fatalf("%s: row %d: position %d: fixed %v", c.file, i, j, r.Fixed[j])
				}
			}
		}
	}
}

// TestGSM8K: a prompt is fixed, its completion is learnt.
func TestGSM8K(t *testing.T) {
	d := open(t, spec(func(s *Spec) {
		s.Train, s.Column, s.PromptColumn = []string{shared + "reason/gsm8k_test.jsonl.gz"}, "answer", "question"
		s.Layout, s.Length, s.TooLong, s.EOS = Padded, 700, Drop, true
	}))
	if n := d.Train.Counts().Dropped; n == 0 || n+int64(d.Train.Rows()) != 1319 {
		t.Errorf("%d dropped of %d", n, d.Train.Rows())
	}
	rows := rowsOf(t, d.Train, d.Vocabulary)
	if !strings.HasPrefix(rows[0], "<J><a><n><e><t>") || !strings.Contains(rows[0], "#### 18<[EOS]>...") || strings.Contains(rows[0], "<[BOS]>") {
		t.Errorf("row 0: %s", rows[0])
	}
}

func TestLayouts(t *testing.T) {
	csv := put(t, "a.csv", "puzzle,solution\n.b,ab\n..c,abc\n\"..,.\",\"ab,d\"\n....e,abcde\n")
	jsonl := put(t, "a.jsonl", "{\"text\": \"ab\", \"q\": \"\"}\n\n{\"q\": \"x\", \"text\": \"c\\nd\"}\n")
	text := put(t, "a.txt", "abcdefghij")
	more := put(t, "b.txt", zipped(t, "\ufeffklm"))
	for name, c := range map[string]struct {
		change  func(*Spec)
		rows    []string
		valid   []string
		dropped int64
	}{
		"packed":         {func(s *Spec) { s.Train, s.Length = []string{text, more}, 4 }, []string{"abcd", "efgh", "ijkl"}, nil, 0},
		"packed split":   {func(s *Spec) { s.Train, s.Length, s.ValidFraction = []string{text, more}, 3, 0.3 }, []string{"abc", "def", "ghi"}, []string{"klm"}, 0},
		"packed records": {func(s *Spec) { s.Train, s.Column, s.Length, s.EOS = []string{jsonl}, "text", 3, true }, []string{"ab[EOS]", "c\nd"}, nil, 0},
		"padded":         {func(s *Spec) { s.Train, s.Column, s.Length, s.Layout = []string{csv}, "solution", 6, Padded }, []string{"ab....", "abc...", "ab,d..", "abcde."}, nil, 0},
		"bos": {func(s *Spec) {
			s.Train, s.Column, s.Length, s.Layout, s.BOS = []string{csv}, "solution", 6, Padded, true
		},
			[]string{"<[BOS]>ab...", "<[BOS]>abc..", "<[BOS]>ab,d.", "<[BOS]>abcde"}, nil, 0},
		"dropped": {func(s *Spec) {
			s.Train, s.Column, s.Length, s.Layout, s.EOS, s.TooLong = []string{csv}, "solution", 4, Padded, true, Drop
		}, []string{"ab<[EOS]>.", "abc<[EOS]>"}, nil, 2},
		"truncated": {func(s *Spec) {
			s.Train, s.Column, s.Length, s.Layout, s.EOS, s.TooLong = []string{csv}, "solution", 4, Padded, true, Truncate
		}, []string{"ab<[EOS]>.", "abc<[EOS]>", "ab,d", "abcd"}, nil, 0},
		"fixed": {func(s *Spec) {
			s.Train, s.Column, s.FixedColumn, s.Blank, s.Length, s.Layout = []string{csv}, "solution", "puzzle", ".", 5, Padded
		}, []string{"a<b>...", "ab<c>..", "ab<,>d.", "abcd<e>"}, nil, 0},
		"two blanks": {func(s *Spec) {
			s.Train, s.Column, s.FixedColumn, s.Blank, s.Length, s.Layout = []string{csv}, "solution", "puzzle", ".,", 5, Padded
		}, []string{"a<b>...", "ab<c>..", "ab,d.", "abcd<e>"}, nil, 0},
		"prompt": {func(s *Spec) {
			s.Train, s.Column, s.PromptColumn, s.Length, s.Layout, s.BOS = []string{jsonl}, "text", "q", 6, Padded, true
		}, []string{"<[BOS]>ab...", "<[BOS]><x>c\nd."}, nil, 0},
		"prompt truncated": {func(s *Spec) {
			s.Train, s.Column, s.PromptColumn, s.Length, s.Layout, s.TooLong = []string{jsonl}, "text", "q", 1, Padded, Truncate
		}, []string{"a"}, nil, 1},
		"text27": {func(s *Spec) {
			s.Train, s.Column, s.Length, s.Layout, s.Normalize = []string{jsonl}, "text", 4, Padded, Text27
		}, []string{"ab..", "c d."}, nil, 0},
		"text27 files": {func(s *Spec) { s.Train, s.Length, s.Normalize = []string{text, more}, 14, Text27 },
			[]string{"abcdefghij klm"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(c.change)
			d := open(t, s)
			if diff := cmp.Diff(c.rows, rowsOf(t, d.Train, d.Vocabulary)); diff != "" || d.Train.Counts().Dropped != c.dropped {
				t.Errorf("%d dropped, (-want +got)\n%s", d.Train.Counts().Dropped, diff)
			}
			if c.valid != nil {
				if diff := cmp.Diff(c.valid, rowsOf(t, d.Valid, d.Vocabulary)); diff != "" {
					t.Errorf("valid (-want +got)\n%s", diff)
				}
			}
			samePrepared(t, s, d)
		})
	}
}

// TestEmpty: rows without text are kept where that is asked for, as long as they have a token.
func TestEmpty(t *testing.T) {
	file := put(t, "a.jsonl", `{"t":"ab","p":"x"}`+"\n"+`{"t":"","p":"x"}`+"\n"+`{"t":"","p":""}`+"\n")
	of := func(change func(*Spec)) (*Data, error) {
		return Open(t.Context(), spec(func(s *Spec) {
			s.Train, s.Column, s.Layout, s.Length, s.Empty = []string{file}, "t", Padded, 4, Keep
			change(s)
		}), Options{})
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   []string
	}{
		"an end":       {func(s *Spec) { s.EOS = true }, []string{"ab<[EOS]>.", "<[EOS]>...", "<[EOS]>..."}},
		"and a prompt": {func(s *Spec) { s.EOS, s.PromptColumn = true, "p" }, []string{"<x>ab<[EOS]>", "<x><[EOS]>..", "<[EOS]>..."}},
		"too long":     {func(s *Spec) { s.PromptColumn, s.Length, s.BadLines, s.TooLong = "p", 2, Skip, Drop }, []string{"<x>."}},
	} {
		d, err := of(c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := rowsOf(t, d.Train, d.Vocabulary); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	_, err := of(func(*Spec) {})
	wantError(t, err, "a.jsonl:2: is a row without any token; give it an end with data.eos", "a.jsonl:3: ")
	_, err = of(func(s *Spec) { s.EOS, s.Empty = true, Error })
	wantError(t, err, "a.jsonl:2: t: expected text, found nothing; data.empty=keep takes rows without any")
	_, err = of(func(s *Spec) { s.Layout = Packed })
	wantError(t, err, "data.empty: has no meaning for packed rows")
}

// TestExistingTokenizer: a file's own post-processor goes around records; unknown text is refused unless it may stay.
func TestExistingTokenizer(t *testing.T) {
	s := spec(func(s *Spec) {
		s.Train, s.Column, s.Layout = []string{put(t, "a.csv", "s\nCBr\nC[Zz]\n")}, "s", Padded
		s.Tokenizer = "../../model/embedded/rxnmapper-albert"
	})
	_, err := Open(context.Background(), s, Options{})
	wantError(t, err, `a.csv:3: "C[Zz]" is not in the vocabulary; add it, or set data.unknown to keep`)
	s.Unknown = Keep
	d := open(t, s)
	if diff := cmp.Diff([]string{"<[CLS]>CBr<[SEP]>....", "<[CLS]>C[UNK]<[SEP]>...."}, rowsOf(t, d.Train, d.Vocabulary)); diff != "" {
		t.Error(diff)
	}
	s.Tokenizer = "nowhere.json"
	_, err = Open(context.Background(), s, Options{})
	wantError(t, err, "data.tokenizer: nowhere.json: no such file", "expected characters, smiles or the path")
	s.Tokenizer = put(t, "t.txt", "abc")
	_, err = Open(context.Background(), s, Options{})
	wantError(t, err, "data.tokenizer: "+s.Tokenizer+":1:1: ", "expected characters, smiles or the path")
}

// TestTextsOfOtherTokens: no text may hold the mask or the padding, whether a file says that they are special or not, or the
// model alone knows; but it may hold what stands around every text.
func TestTextsOfOtherTokens(t *testing.T) {
	file := func(processor string) []byte {
		return []byte(`{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null, "post_processor": ` + processor + `,
			"model": {"type": "WordLevel", "unk_token": "u", "vocab": {"a": 0, "b": 1, "[PAD]": 2, "[MASK]": 3, "u": 4}}}`)
	}
	around := `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[PAD]", "type_id": 0}}], "pair": [],
		"special_tokens": {"[PAD]": {"id": "[PAD]", "ids": [2], "tokens": ["[PAD]"]}}}`
	for _, layout := range []string{Packed, Padded} {
		s := spec(func(s *Spec) {
			s.Train, s.Column, s.Layout, s.Length = []string{put(t, "a.csv", "s\na b\na [PAD]\n[MASK] b\nb b\n")}, "s", layout, 3
		})
		_, err := Open(context.Background(), s, Options{Tokenizer: file("null")})
		wantError(t, err, "data: 2 bad lines", "a.csv:3: has the padding [PAD], which data must not have; take it out", "a.csv:4: has the mask [MASK]")
		_, err = Open(context.Background(), s, Options{Tokenizer: file("null"), Refused: map[int32]string{1: "padding", -1: "padding"}})
		wantError(t, err, "data: 4 bad lines", "a.csv:2: has the padding b", "a.csv:5: has the padding b")
		s.BadLines = Skip
		d, err := Open(context.Background(), s, Options{Tokenizer: file(around)})
		if err != nil || d.Train.Counts().Skipped != 1 {
			t.Errorf("%s: %v", layout, err)
		}
	}
}

// TestSplit: the records of both parts are all records, in order, and the share is about what was asked for. Six standard
// deviations: false alarms 2e-9.
func TestSplit(t *testing.T) {
	s := spec(func(s *Spec) {
		s.Train, s.Column, s.Layout, s.Length, s.ValidFraction = []string{shared + "puzzle/sudoku_train.csv.gz"}, "solution", Padded, 81, 0.1
	})
	d := open(t, s)
	all, held := float64(d.Train.Rows()+d.Valid.Rows()), float64(d.Valid.Rows())
	if all != 48000 || math.Abs(held-4800) > 6*math.Sqrt(48000*.1*.9) {
		t.Errorf("%g of %g rows are held out", held, all)
	}
	s.ValidFraction = 0
	whole := open(t, s)
	train, valid := rowsOf(t, d.Train, d.Vocabulary), rowsOf(t, d.Valid, d.Vocabulary)
	for i, row := range rowsOf(t, whole.Train, whole.Vocabulary) {
		switch {
		case len(train) > 0 && row == train[0]:
			train = train[1:]
		case len(valid) > 0 && row == valid[0]:
			valid = valid[1:]
		default:
			t.Fatalf("row %d is in neither part", i)
		}
	}
}
