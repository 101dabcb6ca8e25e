package tokenizer_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

const smilesFile = "../embedded/rxnmapper-albert/tokenizer.json"

// golden is one tokenizer of testdata/golden.json.gz; File is null for the one at smilesFile.
type golden struct {
	Name  string
	File  json.RawMessage
	Cases [][5]json.RawMessage // text, ids, ids with specials, decoded without specials, with them
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	var all []golden
	goldenfile.Read(t, "testdata/golden.json.gz", &all)
	for i := range all {
		if string(all[i].File) == "null" {
			var err error
			if all[i].File, err = os.ReadFile(smilesFile); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// value decodes one golden value; ok is false for null.
func value[T any](t *testing.T, raw json.RawMessage) (v T, ok bool) {
	t.Helper()
	var p *T
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p == nil {
		return v, false
	}
	return *p, true
}

func TestGolden(t *testing.T) {
	for _, g := range readGolden(t) {
		t.Run(g.Name, func(t *testing.T) {
			tok, err := tokenizer.Parse(g.Name, g.File)
			if err != nil {
				t.Fatal(err)
			}
			check(t, tok, g)
		})
	}
}

func check(t *testing.T, tok tokenizer.Tokenizer, g golden) {
	t.Helper()
	for _, c := range g.Cases {
		ids, served := value[[]int32](t, c[1])
		full, _ := value[[]int32](t, c[2])
		if text, given := value[string](t, c[0]); given {
			got, err := tok.Encode(text, false)
			if (err == nil) != served {
				t.Errorf("Encode(%q): error %v, served by Hugging Face: %v", text, err, served)
			}
			if len(got)+len(ids) > 0 && !cmp.Equal(got, ids) {
				t.Errorf("Encode(%q) = %v, want %v", text, got, ids)
			}
			if got, _ := tok.Encode(text, true); len(got)+len(full) > 0 && !cmp.Equal(got, full) {
				t.Errorf("Encode(%q, special) = %v, want %v", text, got, full)
			}
		}
		if !served {
			continue
		}
		for i, skip := range []bool{true, false} {
			if want, _ := value[string](t, c[3+i]); tok.Decode(full, skip) != want {
				t.Errorf("Decode(%v, %v) = %q, want %q", full, skip, tok.Decode(full, skip), want)
			}
		}
	}
}
