package data

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestValidAlone: an evaluation reads no training file, and its messages are about the validation data.
func TestValidAlone(t *testing.T) {
	made, err := Open(context.Background(), spec(func(s *Spec) { s.Train, s.Length = []string{put(t, "a.txt", "abcabcabc")}, 3 }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tokenizer: made.Vocabulary.JSON}
	valid := func(text string) Spec {
		return spec(func(s *Spec) { s.Train, s.Valid, s.Length = []string{"none.txt"}, []string{put(t, "b.txt", text)}, 3 })
	}
	d, err := OpenValid(context.Background(), valid("cbaabc"), o)
	if err != nil {
		t.Fatal(err)
	}
	row := Row{Tokens: make([]int64, 3)}
	if err := d.Valid.Row(1, &row); err != nil || d.Train != nil || d.Valid.Rows() != 2 {
		t.Fatalf("%d rows, training set %v, error %v", d.Valid.Rows(), d.Train, err)
	}
	ids := []int32{int32(row.Tokens[0]), int32(row.Tokens[1]), int32(row.Tokens[2])}
	if got := d.Vocabulary.Decode(ids, true); got != "abc" {
		t.Errorf("the second window is %q", got)
	}
	for want, s := range map[string]Spec{
		"data.valid: has 2 tokens, expected at least data.length, 3": valid("ab"),
		"data.valid: expected at least one file":                     spec(func(s *Spec) { s.Length = 3 }),
		"data.valid: none.txt: no such file":                         spec(func(s *Spec) { s.Valid, s.Length = []string{"none.txt"}, 3 }),
	} {
		if _, err := OpenValid(context.Background(), s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestPreparedWithoutValid: there is nothing to evaluate on.
func TestPreparedWithoutValid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d, err := Prepare(context.Background(), spec(func(s *Spec) { s.Train, s.Length = []string{put(t, "a.txt", "abcabcabc")}, 3 }), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = OpenValid(context.Background(), spec(func(s *Spec) { s.Prepared = dir }), Options{})
	if wrong := (Problems{}); !errors.As(err, &wrong) || wrong[0].Key != "data.prepared" || !strings.Contains(err.Error(), "has no validation set") {
		t.Error(err)
	}
}

// TestNormalizedModel: who gives text to a model that knows letters and spaces alone is told how it was trained.
func TestNormalizedModel(t *testing.T) {
	letters := put(t, "a.txt", "the quick brown fox jumps over the lazy dog")
	made, err := Open(context.Background(), spec(func(s *Spec) { s.Train = []string{letters} }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := spec(func(s *Spec) { s.Valid = []string{put(t, "b.txt", "The Fox jumps,\nover.")} })
	_, err = OpenValid(context.Background(), s, Options{Tokenizer: made.Vocabulary.JSON})
	wantError(t, err, `b.txt:1: "T" is not in the vocabulary`, "; it has lower-case letters and spaces alone: set data.normalize to text27")
	s.Normalize = Text27
	if _, err := OpenValid(context.Background(), s, Options{Tokenizer: made.Vocabulary.JSON}); err != nil {
		t.Error(err)
	}
}
